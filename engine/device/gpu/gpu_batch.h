// The batch of a pass on a GPU: what each row is and sees, and where the pages of its sequence lie.
//
//   RETURN_IF_ERROR(batch.Begin(given, memory));
//   ... {.pages = batch.pages(layer), .first_page = batch.first_page(layer), ...} ...
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/gpu_page_memory.h"
#include "engine/model/rope.h"
#include "kernels/gpu/gpu_stream.h"

namespace inferd::device {

class GpuBatch {
 public:
  GpuBatch(kernels::gpu::GpuStream& stream, const model::DecoderSpec& spec, const DeviceOptions& options,
           const cache::CacheLayout& layout, LayerRange layers);

  // RESOURCE_EXHAUSTED; all of the last pass is done.
  absl::Status Begin(const Batch& batch, const GpuPageMemory& memory, const kernels::Kernels& host);

  int64_t rows() const { return rows_; }
  const int32_t* tokens() const { return tokens_.data(); }
  const int32_t* positions() const { return positions_.data(); }
  const int32_t* token_types() const { return token_types_.data(); }
  const float* rope_table(int32_t rope) const { return ropes_[rope].table.data(); }       // [rows][2][pairs]
  const float* temperatures(int32_t layer) const { return temperatures_[layer].data(); }  // [rows]

  // Of the layer whose K and V the layer uses.
  uint8_t* const* pages(int32_t layer) const;
  const int32_t* first_page(int32_t layer) const { return group(layer).first_page.data(); }  // [rows]
  const int32_t* page_of(int32_t layer) const { return group(layer).page_of.data(); }        // [rows]
  // What the layer's queries see.
  const kernels::gpu::SeenRange* seen(int32_t layer) const { return views_.at(KeyOf(layer)).data(); }
  // Spans that any of these rows has at most.
  int32_t SpansOf(int32_t layer, int64_t first_row, int64_t rows) const;

 private:
  struct Rope {
    model::RopeFrequencies frequencies;
    DeviceArray<float> table;
  };
  struct Group {
    DeviceArray<int32_t> first_page, page_of;
    DeviceArray<uint8_t*> pages;            // [layers of the group][pages of all sequences]
    std::vector<int64_t> begin_of_layer{};  // [layers] among them
  };
  using ViewKey = std::pair<int64_t, model::WindowShape>;

  int32_t owner(int32_t layer) const {
    const int32_t source = spec_.layers[layer].attention.kv_of;
    return source < 0 ? layer : source;
  }
  const Group& group(int32_t layer) const { return groups_[static_cast<size_t>(group_of_[owner(layer)])]; }
  ViewKey KeyOf(int32_t layer) const;
  kernels::gpu::SeenRange SeenBy(int32_t layer, const BatchSequence& sequence, int64_t position) const;
  void FillRows(const Batch& batch);
  absl::Status FillRopes(const kernels::Kernels& host);
  absl::Status FillPages(const Batch& batch, const GpuPageMemory& memory);
  absl::Status FillViews(const Batch& batch);

  const model::DecoderSpec& spec_;
  const LayerRange layers_;
  const std::vector<int32_t> group_of_;  // [layers] of pages; -1: none
  int64_t rows_ = 0;
  DeviceArray<int32_t> tokens_, positions_, token_types_;
  std::vector<Rope> ropes_;
  std::vector<DeviceArray<float>> temperatures_;  // [layers], empty without
  std::vector<Group> groups_;
  std::map<ViewKey, DeviceArray<kernels::gpu::SeenRange>> views_;
};

}  // namespace inferd::device
