#include "engine/device/gpu/gpu_batch.h"

#include <algorithm>

#include "engine/device/attention_factors.h"
#include "engine/device/cache_layout.h"

namespace inferd::device {

using kernels::gpu::SeenRange;

GpuBatch::GpuBatch(kernels::gpu::GpuStream& stream, const model::DecoderSpec& spec, const DeviceOptions& options,
                   const cache::CacheLayout& layout, LayerRange layers)
    : spec_(spec),
      layers_(layers),
      group_of_(GroupsOf(layout)),
      tokens_(stream),
      positions_(stream),
      token_types_(stream) {
  for (const model::RopeSpec& rope : spec.ropes) {
    ropes_.push_back({model::FrequenciesOf(rope, options.context_tokens), DeviceArray<float>(stream)});
  }
  for (size_t i = 0; i < layout.groups.size(); ++i) {
    groups_.push_back({DeviceArray<int32_t>(stream), DeviceArray<int32_t>(stream), DeviceArray<uint8_t*>(stream)});
    groups_.back().begin_of_layer.resize(spec.layers.size());
  }
  for (int32_t layer = 0; layer < static_cast<int32_t>(spec.layers.size()); ++layer) {
    temperatures_.emplace_back(stream);
    if (spec.layers[layer].attention.heads > 0) views_.try_emplace(KeyOf(layer), stream);
  }
}

GpuBatch::ViewKey GpuBatch::KeyOf(int32_t layer) const {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  return {a.window, a.window_shape};
}

absl::Status GpuBatch::Begin(const Batch& batch, const GpuPageMemory& memory, const kernels::Kernels& host) {
  rows_ = static_cast<int64_t>(batch.tokens.size());
  FillRows(batch);
  for (DeviceArray<int32_t>* array : {&tokens_, &positions_, &token_types_}) RETURN_IF_ERROR(array->Upload());
  RETURN_IF_ERROR(FillRopes(host));
  RETURN_IF_ERROR(FillPages(batch, memory));
  return FillViews(batch);
}

void GpuBatch::FillRows(const Batch& batch) {
  tokens_.host().assign(batch.tokens.begin(), batch.tokens.end());
  positions_.host().assign(rows_, 0);
  token_types_.host().assign(rows_, 0);
  for (const BatchSequence& sequence : batch.sequences) {
    for (int64_t i = 0; i < sequence.tokens; ++i) {
      const int64_t position = sequence.first_position + i, type = position < sequence.second_text ? 0 : 1;
      positions_.host()[sequence.row_begin + i] = static_cast<int32_t>(position);
      token_types_.host()[sequence.row_begin + i] = static_cast<int32_t>(std::min(type, spec_.token_types - 1));
    }
  }
}

absl::Status GpuBatch::FillRopes(const kernels::Kernels& host) {
  for (Rope& rope : ropes_) {
    const std::vector<double>& inverse = rope.frequencies.inverse;
    const auto pairs = static_cast<int64_t>(inverse.size());
    rope.table.host().resize(rows_ * 2 * pairs);
    for (int64_t row = 0; row < rows_; ++row) {
      host.rope_table(positions_.host()[row], inverse.data(), pairs, rope.frequencies.magnitude,
                      rope.table.host().data() + row * 2 * pairs);
    }
    RETURN_IF_ERROR(rope.table.Upload());
  }
  for (int32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    const model::AttentionSpec& a = spec_.layers[layer].attention;
    if (a.heads == 0 || a.temperature_floor == 0) continue;
    std::vector<float>& factors = temperatures_[layer].host();
    factors.clear();
    for (const int32_t position : positions_.host()) factors.push_back(TemperatureAt(a, position));
    RETURN_IF_ERROR(temperatures_[layer].Upload());
  }
  return absl::OkStatus();
}

absl::Status GpuBatch::FillPages(const Batch& batch, const GpuPageMemory& memory) {
  for (size_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    group.first_page.host().assign(rows_, 0);
    group.page_of.host().assign(rows_, 0);
    int32_t begin = 0;
    for (const BatchSequence& sequence : batch.sequences) {
      for (int64_t row = sequence.row_begin; row < sequence.row_begin + sequence.tokens; ++row) {
        group.first_page.host()[row] = begin;
        group.page_of.host()[row] = begin + positions_.host()[row] / kernels::kPageTokens;
      }
      begin += static_cast<int32_t>(sequence.tables[index].pages.size());
    }
    group.pages.host().clear();
    for (int32_t layer = layers_.begin; layer < layers_.end; ++layer) {
      if (group_of_[layer] != static_cast<int32_t>(index)) continue;
      group.begin_of_layer[layer] = static_cast<int64_t>(group.pages.host().size());
      for (const BatchSequence& sequence : batch.sequences) {
        for (const int32_t page : sequence.tables[index].pages) {
          group.pages.host().push_back(page < 0 ? nullptr : memory.Page(page, layer));
        }
      }
    }
    RETURN_IF_ERROR(group.first_page.Upload());
    RETURN_IF_ERROR(group.page_of.Upload());
    RETURN_IF_ERROR(group.pages.Upload());
  }
  return absl::OkStatus();
}

uint8_t* const* GpuBatch::pages(int32_t layer) const {
  return group(layer).pages.data() + group(layer).begin_of_layer[owner(layer)];
}

SeenRange GpuBatch::SeenBy(int32_t layer, const BatchSequence& sequence, int64_t position) const {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  int64_t first = 0, end = position + 1;
  if (spec_.encoder) {
    end = sequence.first_position + sequence.tokens;
    if (a.window > 0) {
      first = std::max<int64_t>(0, position - a.window / 2);
      end = std::min(end, position + a.window / 2 + 1);
    }
  } else if (Chunked(a)) {
    first = position / a.window * a.window;
  } else if (a.window > 0) {
    first = std::max<int64_t>(0, position - a.window + 1);
  }
  return {static_cast<int32_t>(first), static_cast<int32_t>(end)};
}

absl::Status GpuBatch::FillViews(const Batch& batch) {
  for (auto& [key, view] : views_) view.host().clear();
  for (int32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    if (spec_.layers[layer].attention.heads == 0) continue;
    DeviceArray<SeenRange>& view = views_.at(KeyOf(layer));
    if (!view.host().empty()) continue;
    view.host().resize(rows_);
    for (const BatchSequence& sequence : batch.sequences) {
      for (int64_t i = 0; i < sequence.tokens; ++i) {
        view.host()[sequence.row_begin + i] = SeenBy(layer, sequence, sequence.first_position + i);
      }
    }
    RETURN_IF_ERROR(view.Upload());
  }
  return absl::OkStatus();
}

int32_t GpuBatch::SpansOf(int32_t layer, int64_t first_row, int64_t rows) const {
  int32_t most = 1;
  const std::vector<SeenRange>& view = views_.at(KeyOf(layer)).host();
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    const SeenRange seen = view[row];
    most = std::max(most, (seen.end - 1) / kernels::kSpanTokens - seen.first / kernels::kSpanTokens + 1);
  }
  return most;
}

}  // namespace inferd::device
