// Changes of single logits before candidates are taken: bias, penalties for tokens seen, bans. They touch only the
// tokens concerned, in place, so the cost of all but BanOthers does not grow with the vocabulary.
//
//   TokenWindow window(64);
//   window.Push(token);
//   ApplyRepeatPenalty(window, 1.1f, logits);      // logits [vocabulary_size] f32
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace inferd::sampling {

// How often each of the last `size` tokens occurs (-1: of all tokens pushed).
class TokenWindow {
 public:
  explicit TokenWindow(int32_t size) : size_(size) {}
  void Push(int32_t token);
  const absl::flat_hash_map<int32_t, int32_t>& counts() const { return counts_; }

 private:
  int32_t size_;
  std::deque<int32_t> tokens_;  // oldest first; unused for size -1
  absl::flat_hash_map<int32_t, int32_t> counts_;
};

// Adds each bias; a bias of -100 or less bans its token.
void ApplyBias(std::span<const std::pair<int32_t, float>> biases, std::span<float> logits);

// Keskar et al., "CTRL" (2019), section 4.1: divides a positive logit by the penalty and multiplies a negative one.
void ApplyRepeatPenalty(const TokenWindow& window, float penalty, std::span<float> logits);

// logit -= presence + frequency * count, for each token generated (OpenAI's definition).
void ApplyCountPenalties(const TokenWindow& generated, float presence, float frequency, std::span<float> logits);

void Ban(std::span<const int32_t> tokens, std::span<float> logits);
// All but these, which ascend; none if these are none.
void BanOthers(std::span<const int32_t> tokens, std::span<float> logits);

}  // namespace inferd::sampling
