#include "engine/device/split/split_device.h"

#include <utility>

#include "config/base/status.h"
#include "engine/device/cache_layout.h"

namespace inferd::device {

absl::StatusOr<std::unique_ptr<Device>> SplitDevice::Create(std::shared_ptr<const model::Model> model,
                                                            DeviceOptions options, std::vector<Part> parts) {
  RETURN_IF_ERROR(ResolveOptions(*model, options));
  auto device = std::unique_ptr<SplitDevice>(new SplitDevice(std::move(model), std::move(options), std::move(parts)));
  const std::vector<model::LayerSpec>& layers = device->model_->spec().layers;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const int32_t source = layers[layer].attention.kv_of;
    if (source >= 0 && device->part_of_[layer] != device->part_of_[source]) {
      return InvalidArgument("devices: layer {} uses the K and V of layer {}, expected both on one device", layer,
                             source);
    }
  }
  std::vector<SplitPageMemory::Part> memories;
  for (const Part& part : device->parts_) memories.push_back({&part.device->memory(), part.layers});
  device->memory_ = std::make_unique<SplitPageMemory>(std::move(memories));
  ASSIGN_OR_RETURN(cache::CacheLayout layout, CacheLayoutOf(device->model_->spec(), device->options_.cache.type));
  ASSIGN_OR_RETURN(device->cache_, cache::KvCache::Create(std::move(layout), device->options_.cache, *device->memory_));
  return device;
}

SplitDevice::SplitDevice(std::shared_ptr<const model::Model> model, DeviceOptions options, std::vector<Part> parts)
    : model_(std::move(model)), options_(std::move(options)), parts_(std::move(parts)) {
  for (size_t part = 0; part < parts_.size(); ++part) {
    for (int32_t layer = parts_[part].layers.begin; layer < parts_[part].layers.end; ++layer) part_of_.push_back(part);
  }
}

std::string SplitDevice::description() const {
  std::string text;
  for (const Part& part : parts_) {
    text += fmt::format("{}layers {}-{}: {}", text.empty() ? "" : "; ", part.layers.begin, part.layers.end - 1,
                        part.device->description());
  }
  return text;
}

uint64_t SplitDevice::progress() const {
  uint64_t done = 0;
  for (const Part& part : parts_) done += part.device->progress();
  return done;
}

void SplitDevice::Begin(const Batch& batch) {
  rows_ = static_cast<int64_t>(batch.tokens.size());
  at_ = 0;
  status_ = absl::OkStatus();
  for (const Part& part : parts_) part.device->Begin(batch);
}

void SplitDevice::Embed() {
  parts_.front().device->Embed();
  if (model_->spec().layer_input_width == 0) return;
  // What the layers read beside the stream is made of the tokens: each part makes it for itself.
  for (size_t part = 1; part < parts_.size(); ++part) parts_[part].device->Embed();
}

void SplitDevice::BeginLayer(int32_t layer) {
  const size_t part = part_of_[layer];
  if (part != at_) {
    stream_.resize(static_cast<size_t>(rows_ * stream_floats()));
    status_.Update(parts_[at_].device->ReadStream(stream_));
    status_.Update(parts_[part].device->WriteStream(stream_));
    at_ = part;
  }
  Of(layer).BeginLayer(layer);
}

absl::Status SplitDevice::End() {
  for (const Part& part : parts_) status_.Update(part.device->End());
  return status_;
}

}  // namespace inferd::device
