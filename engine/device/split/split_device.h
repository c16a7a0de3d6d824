// Several devices as one: each runs a range of the layers and has their pages, and hands the residual stream on.
//
//   ASSIGN_OR_RETURN(auto device, SplitDevice::Create(model, options, std::move(parts)));
//
// The cache has numbers for pages of all layers; each part's memory has its own layers' share of every page.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/split/split_page_memory.h"

namespace inferd::device {

class SplitDevice final : public Device {
 public:
  struct Part {
    std::unique_ptr<Device> device;  // without a cache of its own
    LayerRange layers;
  };

  // Parts have all layers, in order. INVALID_ARGUMENT where a layer uses the K and V of one on another device.
  static absl::StatusOr<std::unique_ptr<Device>> Create(std::shared_ptr<const model::Model> model,
                                                        DeviceOptions options, std::vector<Part> parts);

  const model::Model& model() const override { return *model_; }
  const DeviceOptions& options() const override { return options_; }
  cache::KvCache& cache() override { return *cache_; }
  cache::PageMemory& memory() override { return *memory_; }
  const kernels::Kernels& host_kernels() const override { return parts_.back().device->host_kernels(); }
  std::string description() const override;
  uint64_t progress() const override;

  void Begin(const Batch& batch) override;
  void Embed() override;
  void BeginLayer(int32_t layer) override;
  void ProjectQkv(int32_t layer) override { Of(layer).ProjectQkv(layer); }
  void Attend(int32_t layer) override { Of(layer).Attend(layer); }
  void ProjectAttention(int32_t layer) override { Of(layer).ProjectAttention(layer); }
  void MixRecurrent(int32_t layer) override { Of(layer).MixRecurrent(layer); }
  void FeedForward(int32_t layer) override { Of(layer).FeedForward(layer); }
  void FinishLayer(int32_t layer) override { Of(layer).FinishLayer(layer); }
  absl::Status End() override;

  absl::StatusOr<std::span<float>> Hidden(std::span<const int32_t> rows) override { return Last().Hidden(rows); }
  absl::StatusOr<std::span<float>> Logits(std::span<const int32_t> rows) override { return Last().Logits(rows); }
  absl::StatusOr<std::span<const kernels::TopEntry>> TopK(std::span<const int32_t> rows, int32_t k) override {
    return Last().TopK(rows, k);
  }
  absl::StatusOr<std::span<const float>> LogSumExp(std::span<const int32_t> rows) override {
    return Last().LogSumExp(rows);
  }
  absl::Status Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) override {
    return Last().Project(linear, x, y);
  }
  int64_t stream_floats() const override { return parts_.back().device->stream_floats(); }
  absl::Status ReadStream(std::span<float> stream) override { return parts_[at_].device->ReadStream(stream); }
  absl::Status WriteStream(std::span<const float> stream) override { return parts_[at_].device->WriteStream(stream); }

 private:
  SplitDevice(std::shared_ptr<const model::Model> model, DeviceOptions options, std::vector<Part> parts);
  Device& Of(int32_t layer) { return *parts_[part_of_[layer]].device; }
  Device& Last() { return *parts_.back().device; }

  const std::shared_ptr<const model::Model> model_;
  DeviceOptions options_;
  std::vector<Part> parts_;
  std::vector<size_t> part_of_;  // [layers]
  std::unique_ptr<SplitPageMemory> memory_;
  std::unique_ptr<cache::KvCache> cache_;
  std::vector<float> stream_;  // between two parts
  size_t at_ = 0;              // the part that has the stream
  int64_t rows_ = 0;
  absl::Status status_;  // of the batch
};

}  // namespace inferd::device
