// How one request wants its tokens chosen. All filters are off by default; temperature 0 is greedy.
//
//   SamplingOptions options{.temperature = 0.8f, .top_p = 0.95f};
//   RETURN_IF_ERROR(Validate(options, vocabulary_size));
//
// Order of the steps: logit_bias, repeat / presence / frequency penalties, DRY, bans (all but the allowed tokens, end
// of generation, bad words), top_k, typical_p, top_p, min_p, XTC, temperature, draw. Each filter sees the probabilities
// of what the one before it left, before temperature: that is the order of other servers of GGUF files. Mirostat comes
// after temperature and takes the place of the filters.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace inferd::sampling {

// A logit that no draw and no argmax takes: finite, so that sums over it stay defined.
constexpr float kBannedLogit = -1e30f;
// Holds for a banned logit after a division by any temperature too.
inline bool IsBanned(float logit) { return logit < kBannedLogit / 4; }

constexpr float kSmallestTemperature = 1e-5f;

struct DryOptions {
  float multiplier = 0;                                                 // [0, 100]; 0: off
  float base = 1.75f;                                                   // [1, 100]
  int32_t allowed_length = 2;                                           // tokens of a repeat that are not punished
  int32_t penalty_last_n = -1;                                          // tokens back that it looks; -1: all
  std::vector<std::string> sequence_breakers = {"\n", ":", "\"", "*"};  // no repeat goes across these texts

  bool on() const { return multiplier > 0 && penalty_last_n != 0; }
};

struct SamplingOptions {
  float temperature = 1;                              // 0..2
  int32_t top_k = 0;                                  // 0: off
  float top_p = 1;                                    // (0, 1]
  float min_p = 0;                                    // [0, 1]
  float typical_p = 1;                                // (0, 1]
  float xtc_probability = 0;                          // [0, 1]; 0: off
  float xtc_threshold = 0.1f;                         // [0, 1]; above 0.5 it never applies
  float presence_penalty = 0;                         // -2..2, once for a token that was generated
  float frequency_penalty = 0;                        // -2..2, for each time that it was generated
  float repeat_penalty = 1;                           // (0, 10], for a token among the last of prompt and output
  int32_t repeat_last_n = 64;                         // tokens back that repeat_penalty looks; -1: all
  int32_t count_last_n = -1;                          // generated tokens back that presence and frequency look; -1: all
  std::vector<std::pair<int32_t, float>> logit_bias;  // -100..100; <= -100 bans
  bool ignore_eos = false;
  DryOptions dry;
  bool mirostat = false;                // version 2
  float mirostat_tau = 5;               // [0, 100] surprise to keep, in bits
  float mirostat_eta = 0.1f;            // [0, 1] how fast
  std::vector<std::string> bad_words;   // texts that an answer never contains
  std::vector<int32_t> allowed_tokens;  // ascending; no others are drawn; empty: all are

  // Below the bound a draw could only take the likeliest token, and logits divided by it would overflow.
  bool greedy() const { return temperature < kSmallestTemperature; }
};

// INVALID_ARGUMENT names the field, its value and the range.
absl::Status Validate(const SamplingOptions& options, int32_t vocabulary_size);

}  // namespace inferd::sampling
