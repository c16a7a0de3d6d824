// DRY ("don't repeat yourself", p-e-w 2024, as llama.cpp has it): the longer the repeat that a token would continue,
// the smaller its logit.
//
//   DryHistory history(options.dry, breakers, texts);
//   history.Push(token);                       // each token of prompt and output
//   history.Penalize(logits);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/sampling/byte_automaton.h"
#include "engine/sampling/sampling_options.h"
#include "engine/sampling/token_texts.h"

namespace inferd::sampling {

// (token, length): the longest repeat of the end of `tokens` (oldest first), of at most `limit` and at least `least`
// tokens, that stood before this token earlier in them. Ascending by token, each once.
std::vector<std::pair<int32_t, int32_t>> Repeats(std::span<const int32_t> tokens, int64_t limit, int64_t least);

// multiplier * base ^ (length - allowed_length), bounded so that logits stay finite.
float DryPenalty(const DryOptions& options, int32_t length);

class DryHistory {
 public:
  // `breakers` and `texts` are not null where options.on().
  DryHistory(DryOptions options, std::shared_ptr<const ByteAutomaton> breakers,
             std::shared_ptr<const TokenTexts> texts);

  // Before any other token; the prompt is not copied, so it outlives the history.
  void PushPrompt(std::span<const int32_t> prompt);
  void Push(int32_t token);
  void Penalize(std::span<float> logits) const;

 private:
  DryOptions options_;
  std::shared_ptr<const ByteAutomaton> breakers_;
  std::shared_ptr<const TokenTexts> texts_;
  void Spell(int32_t token);

  std::span<const int32_t> prompt_;
  std::vector<int32_t> tokens_;  // after it
  int32_t state_ = 0;
  int64_t since_breaker_ = 0;  // tokens after the one in which a breaker ended last, or all
};

}  // namespace inferd::sampling
