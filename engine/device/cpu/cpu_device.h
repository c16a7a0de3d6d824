// The device that runs a model on the processors of this machine: the batch, the residual stream, and a block for each
// part of the model (block.h), each in a file of its own beside this one.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CpuDevice::Create(model, options, {.threads = 2}));
//
// Each step is one or two jobs of the thread pool, done when it returns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/host_page_memory.h"
#include "engine/device/cpu/block.h"
#include "engine/device/cpu/cpu_options.h"
#include "engine/device/cpu/embedding.h"
#include "engine/device/cpu/further_streams.h"
#include "engine/device/cpu/head.h"
#include "engine/device/cpu/layer_inputs.h"
#include "engine/device/cpu/recurrent_mixer.h"

namespace inferd::device {

class CpuDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<Device>> Create(std::shared_ptr<const model::Model> model,
                                                        DeviceOptions options, const CpuOptions& cpu);
  // For a few layers of a SplitDevice: without a cache; the memory is created by who has it.
  static absl::StatusOr<std::unique_ptr<Device>> CreatePart(std::shared_ptr<const model::Model> model,
                                                            DeviceOptions options, const CpuOptions& cpu,
                                                            LayerRange layers);

  const model::Model& model() const override { return *model_; }
  const DeviceOptions& options() const override { return options_; }
  cache::KvCache& cache() override { return *cache_; }
  cache::PageMemory& memory() override { return memory_; }
  const kernels::Kernels& host_kernels() const override { return processor_.kernels(); }
  std::string description() const override;
  uint64_t progress() const override { return processor_.pool().items_done(); }

  void Begin(const Batch& batch) override;
  void Embed() override;
  void BeginLayer(int32_t layer) override;
  void ProjectQkv(int32_t layer) override;
  void Attend(int32_t layer) override { layers_[layer].attention->Attend(layer); }
  void ProjectAttention(int32_t layer) override;
  void MixRecurrent(int32_t layer) override;
  void FeedForward(int32_t layer) override { layers_[layer].network->Run(layer); }
  void FinishLayer(int32_t layer) override;
  absl::Status End() override { return absl::OkStatus(); }  // all is done when a step returns

  absl::StatusOr<std::span<float>> Hidden(std::span<const int32_t> rows) override { return head_->Hidden(rows); }
  absl::StatusOr<std::span<float>> Logits(std::span<const int32_t> rows) override { return head_->Logits(rows); }
  absl::StatusOr<std::span<const kernels::TopEntry>> TopK(std::span<const int32_t> rows, int32_t k) override {
    return head_->TopK(rows, k);
  }
  absl::StatusOr<std::span<const float>> LogSumExp(std::span<const int32_t> rows) override {
    return head_->LogSumExp(rows);
  }
  absl::Status Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) override;
  int64_t stream_floats() const override;
  absl::Status ReadStream(std::span<float> stream) override;
  absl::Status WriteStream(std::span<const float> stream) override;

 private:
  // The blocks that run a layer; null where it has none.
  struct LayerBlocks {
    AttentionBlock* attention = nullptr;
    RecurrentMixer* recurrent = nullptr;
    Network* network = nullptr;
  };

  CpuDevice(std::shared_ptr<const model::Model> model, DeviceOptions options, int32_t threads,
            const kernels::Kernels& k, const cache::CacheLayout& layout, LayerRange layers);
  static absl::StatusOr<std::unique_ptr<CpuDevice>> Make(std::shared_ptr<const model::Model> model,
                                                         DeviceOptions options, CpuOptions cpu, LayerRange layers);
  template <typename Kind>
  Kind* Add();
  template <typename Kind>
  Kind* AddIfUsed();
  void AddBlocks();
  absl::Status Allocate();
  void PrepareMixer(int32_t layer);

  const std::shared_ptr<const model::Model> model_;
  const model::DecoderSpec& spec_;
  const model::ModelWeights& weights_;
  DeviceOptions options_;
  Processor processor_;
  cache::HostPageMemory memory_;
  std::unique_ptr<cache::KvCache> cache_;  // null for a part
  CpuBatch batch_;
  RopeTables ropes_;
  ResidualStream stream_;
  Workspace workspace_;
  Activations mixer_input_;  // [rows][n_embd]: what a layer's mixers read

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<LayerBlocks> layers_;
  Embedding* embedding_ = nullptr;
  Head* head_ = nullptr;
  LayerInputs* layer_inputs_ = nullptr;        // null where the model has none
  FurtherStreams* further_streams_ = nullptr;  // the same
};

}  // namespace inferd::device
