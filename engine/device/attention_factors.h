// What attention multiplies scores and queries by, by head and by position.
//
//   std::vector<float> slopes = AlibiSlopes(layer.attention);   // empty without biases
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/decoder_spec.h"

namespace inferd::device {

// Slopes of linear attention biases (arXiv 2108.12409, section 3): a geometric sequence for the largest power of two of
// heads, and every other step of the next finer one for the rest. Empty where the layer has none.
std::vector<float> AlibiSlopes(const model::AttentionSpec& attention);

// Factor of a query by its position; temperature_floor > 0.
float TemperatureAt(const model::AttentionSpec& attention, int64_t position);

inline bool Chunked(const model::AttentionSpec& attention) {
  return attention.window_shape == model::WindowShape::kChunked && attention.window > 0;
}

}  // namespace inferd::device
