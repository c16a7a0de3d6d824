// How one request wants its tokens chosen. All filters are off by default; temperature 0 is greedy.
//
//   SamplingOptions options{.temperature = 0.8f, .top_p = 0.95f};
//   RETURN_IF_ERROR(Validate(options, vocabulary_size));
//
// Order of the steps: logit_bias, repeat / presence / frequency penalties, bans (end of generation), top_k, typical_p,
// top_p, min_p, temperature, draw. Each filter sees the probabilities of what the one before it left, before
// temperature: that is the order of other servers of GGUF files.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace inferd::sampling {

// A logit that no draw and no argmax takes: finite, so that sums over it stay defined.
constexpr float kBannedLogit = -1e30f;

constexpr float kSmallestTemperature = 1e-5f;

struct SamplingOptions {
  float temperature = 1;                              // 0..2
  int32_t top_k = 0;                                  // 0: off
  float top_p = 1;                                    // (0, 1]
  float min_p = 0;                                    // [0, 1]
  float typical_p = 1;                                // (0, 1]
  float presence_penalty = 0;                         // -2..2, once for a token that was generated
  float frequency_penalty = 0;                        // -2..2, for each time that it was generated
  float repeat_penalty = 1;                           // (0, 10], for a token among the last of prompt and output
  int32_t repeat_last_n = 64;                         // tokens back that repeat_penalty looks; -1: all
  int32_t count_last_n = -1;                          // generated tokens back that presence and frequency look; -1: all
  std::vector<std::pair<int32_t, float>> logit_bias;  // -100..100; <= -100 bans
  bool ignore_eos = false;

  // Below the bound a draw could only take the likeliest token, and logits divided by it would overflow.
  bool greedy() const { return temperature < kSmallestTemperature; }
};

// INVALID_ARGUMENT names the field, its value and the range.
absl::Status Validate(const SamplingOptions& options, int32_t vocabulary_size);

}  // namespace inferd::sampling
