#include "engine/device/cache_layout.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/device/recurrent_shape.h"

namespace inferd::device {

kernels::PageShape PageShapeOf(const model::AttentionSpec& a, kernels::CacheType type) {
  return {type, static_cast<int32_t>(a.kv_heads), static_cast<int32_t>(a.k_dim), static_cast<int32_t>(a.v_dim)};
}

absl::StatusOr<cache::CacheLayout> CacheLayoutOf(const model::DecoderSpec& spec, kernels::CacheType type) {
  cache::CacheLayout layout;
  for (int32_t i = 0; i < static_cast<int32_t>(spec.layers.size()); ++i) {
    const model::LayerSpec& layer = spec.layers[i];
    layout.state_bytes.push_back(StateBytes(layer.recurrent));
    layout.page_bytes.push_back(0);
    if (layer.attention.heads == 0 || layer.attention.kv_of >= 0) continue;
    const kernels::PageShape shape = PageShapeOf(layer.attention, type);
    if (shape.type == kernels::CacheType::kQ8_0 && (shape.k_dim % 32 != 0 || shape.v_dim % 32 != 0)) {
      return InvalidArgument(
          "kv_cache.type: q8_0 needs head dimensions that are multiples of 32, the model has {} and {}", shape.k_dim,
          shape.v_dim);
    }
    layout.page_bytes.back() = static_cast<int64_t>(kernels::SelectKernels("reference")->page_bytes(shape));
    // Encoders and chunked windows keep all pages: what a later query sees does not only move forwards.
    const bool moves = layer.attention.window_shape == model::WindowShape::kCausal && !spec.encoder;
    const int64_t window = moves ? layer.attention.window : 0;
    auto group =
        std::find_if(layout.groups.begin(), layout.groups.end(), [&](const auto& g) { return g.window == window; });
    if (group == layout.groups.end()) group = layout.groups.insert(group, {window, {}});
    group->layers.push_back(i);
  }
  return layout;
}

std::vector<int32_t> GroupsOf(const cache::CacheLayout& layout) {
  std::vector<int32_t> groups(layout.page_bytes.size(), -1);
  for (size_t group = 0; group < layout.groups.size(); ++group) {
    for (int32_t layer : layout.groups[group].layers) groups[layer] = static_cast<int32_t>(group);
  }
  return groups;
}

}  // namespace inferd::device
