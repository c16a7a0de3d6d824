// The device that runs a model's layers on a GPU, or on the emulated one that tests it: kernels/gpu over one stream.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, GpuDevice::Create(model, options, std::move(stream)));
//
// Steps only enqueue; results wait. All weights are copied to the device. Dense decoders and encoders run; Create names
// what does not run yet.
#pragma once

#include <memory>

#include "engine/device/gpu/gpu_attention.h"
#include "engine/device/gpu/gpu_feed_forward.h"
#include "engine/device/gpu/gpu_head.h"

namespace inferd::device {

class GpuDevice final : public Device {
 public:
  // INVALID_ARGUMENT: the model has what GPUs do not run yet; RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<Device>> Create(std::shared_ptr<const model::Model> model,
                                                        DeviceOptions options,
                                                        std::unique_ptr<kernels::gpu::GpuStream> stream);
  // For a few layers of a SplitDevice: without a cache; the memory is created by who has it.
  static absl::StatusOr<std::unique_ptr<Device>> CreatePart(std::shared_ptr<const model::Model> model,
                                                            DeviceOptions options,
                                                            std::unique_ptr<kernels::gpu::GpuStream> stream,
                                                            LayerRange layers);
  ~GpuDevice() override;

  const model::Model& model() const override { return *model_; }
  const DeviceOptions& options() const override { return options_; }
  cache::KvCache& cache() override { return *cache_; }
  cache::PageMemory& memory() override { return memory_; }
  const kernels::Kernels& host_kernels() const override { return host_; }
  std::string description() const override { return gpu_->device_name(); }
  uint64_t progress() const override { return gpu_->progress(); }

  void Begin(const Batch& batch) override;
  void Embed() override;
  void BeginLayer(int32_t) override {}
  void ProjectQkv(int32_t layer) override;
  void Attend(int32_t layer) override;
  void ProjectAttention(int32_t layer) override;
  void MixRecurrent(int32_t) override {}
  void FeedForward(int32_t layer) override;
  void FinishLayer(int32_t layer) override;
  absl::Status End() override { return status_; }

  absl::StatusOr<std::span<float>> Hidden(std::span<const int32_t> rows) override;
  absl::StatusOr<std::span<float>> Logits(std::span<const int32_t> rows) override;
  absl::StatusOr<std::span<const kernels::TopEntry>> TopK(std::span<const int32_t> rows, int32_t k) override;
  absl::StatusOr<std::span<const float>> LogSumExp(std::span<const int32_t> rows) override;
  absl::Status Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) override;

  int64_t stream_floats() const override { return spec_.width; }
  absl::Status ReadStream(std::span<float> stream) override;
  absl::Status WriteStream(std::span<const float> stream) override;

 private:
  GpuDevice(std::shared_ptr<const model::Model> model, DeviceOptions options,
            std::unique_ptr<kernels::gpu::GpuStream> stream, const cache::CacheLayout& layout, LayerRange layers);
  static absl::StatusOr<std::unique_ptr<GpuDevice>> Make(std::shared_ptr<const model::Model> model,
                                                         DeviceOptions options,
                                                         std::unique_ptr<kernels::gpu::GpuStream> stream,
                                                         LayerRange layers);
  absl::Status Allocate();
  absl::Status UploadEmbedding();
  absl::Status UploadNorms(int32_t layer);
  void EmbedRows(const model::Linear& table, const int32_t* ids, float* out);
  bool ok() const { return status_.ok(); }

  const std::shared_ptr<const model::Model> model_;
  const model::DecoderSpec& spec_;
  const model::ModelWeights& weights_;
  DeviceOptions options_;
  const kernels::Kernels& host_;
  const std::unique_ptr<kernels::gpu::GpuStream> gpu_;
  GpuMath math_;
  GpuPageMemory memory_;
  std::unique_ptr<cache::KvCache> cache_;  // null for a part
  GpuBatch batch_;
  const GpuContext context_;
  GpuResidual stream_;
  GpuAttention attention_;
  GpuFeedForward feed_forward_;
  GpuHead head_;
  DeviceMemory normed_;  // [rows][n_embd]: what a layer's mixer reads
  absl::Status status_;  // of the pass
};

}  // namespace inferd::device
