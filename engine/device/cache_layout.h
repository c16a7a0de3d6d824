// What a model keeps of its sequences, layer by layer.
//
//   ASSIGN_OR_RETURN(cache::CacheLayout layout, CacheLayoutOf(model.spec(), kernels::CacheType::kF16));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/cache/kv_cache.h"
#include "engine/model/decoder_spec.h"

namespace inferd::device {

// INVALID_ARGUMENT: the type does not go with the model's heads.
absl::StatusOr<cache::CacheLayout> CacheLayoutOf(const model::DecoderSpec& spec, kernels::CacheType type);

kernels::PageShape PageShapeOf(const model::AttentionSpec& attention, kernels::CacheType type);

// [layers] the group whose pages have the layer's K and V; -1: none.
std::vector<int32_t> GroupsOf(const cache::CacheLayout& layout);

}  // namespace inferd::device
