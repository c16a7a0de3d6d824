// The angular frequencies of a rotary embedding, with its scaling worked in.
//
//   RopeFrequencies f = FrequenciesOf(spec.ropes[0], context_tokens);
//   k.rope_table(position, f.inverse.data(), f.inverse.size(), f.magnitude, table);
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/decoder_spec.h"

namespace inferd::model {

struct RopeFrequencies {
  std::vector<double> inverse;  // [rotated / 2] radians per token
  float magnitude;              // of cosine and sine
};

// `context_tokens` is the longest sequence that will run: long factors apply if it exceeds the trained context,
// whatever the length of a single text, so that a text's result does not change when it grows.
RopeFrequencies FrequenciesOf(const RopeSpec& rope, int64_t context_tokens);

}  // namespace inferd::model
