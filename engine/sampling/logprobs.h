// Log-probabilities of a token and of the best alternatives, from the model's unmodified logits.
//
//   TokenLogprob entry = LogprobOf(logits, token, /*top=*/5, kernels);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace inferd::sampling {

struct Alternative {
  int32_t token;
  float logprob;  // natural logarithm
};

struct TokenLogprob {
  int32_t token;
  float logprob;
  std::vector<Alternative> top;  // descending
};

// `logits` [vocabulary_size] f32, all finite.
TokenLogprob LogprobOf(std::span<const float> logits, int32_t token, int32_t top, const kernels::Kernels& kernels);

}  // namespace inferd::sampling
