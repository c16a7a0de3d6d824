// One choice of a request: its tokens, its sampler and its text, from one row of logits to the next.
//
//   Choice choice(request, index, stops, {.most_tokens = 64, .window = 4096}, vocabulary, kernels);
//   std::optional<Finish> finish = choice.Replay(delta);          // tokens of a resumed request
//   finish = choice.Advance(logits, delta);                       // a token more
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/constraint/matcher.h"
#include "engine/generation/event.h"
#include "engine/generation/request.h"
#include "engine/generation/token_text.h"
#include "engine/generation/vocabulary.h"
#include "engine/output/text_stream.h"
#include "engine/sampling/sampler.h"
#include "kernels/kernels.h"

namespace inferd::engine {

struct Finish {
  FinishReason reason;
  std::string stop_text;  // of kStop by a stop text
  absl::Status error;     // of kError
  bool nonfinite_logits = false;
};

struct ChoiceLimits {
  int64_t most_tokens = 0;  // that the choice generates
  int64_t window = 0;       // prompt and output at one time: with fewer left, it slides
};

class Choice {
 public:
  // `request` is valid; it, `vocabulary` and `kernels` outlive the choice. `stops` are the request's: up to 4 MB, so
  // its choices share them.
  Choice(const GenerationRequest& request, uint32_t index, std::shared_ptr<const output::StopTexts> stops,
         const ChoiceLimits& limits, const Vocabulary& vocabulary, const kernels::Kernels& kernels);

  uint32_t index() const { return index_; }
  // Prompt and generated, without what was dropped by sliding.
  const TokenText& tokens() const { return tokens_; }
  uint32_t generated() const { return generated_; }
  uint32_t dropped() const { return dropped_; }
  // Tokens that it still takes before it ends or slides.
  int64_t room() const {
    return std::min(limits_.most_tokens - generated(), limits_.window - static_cast<int64_t>(tokens_.size()));
  }
  // Whether it has slid since the last call: what was computed is of no more use.
  bool TakeSlid() { return std::exchange(slid_, false); }
  // Tokens that are known to come: those of a resumed request whose logits the sampler needs.
  std::span<const int32_t> known() const { return std::span(known_).subspan(known_taken_); }
  // How many of these tokens could come next, one after the other.
  size_t CountPossible(std::span<const int32_t> tokens) {
    return matcher_ ? matcher_->CountAllowed(tokens) : tokens.size();
  }
  // Nothing was generated, neither here nor before a resumption.
  bool at_beginning() const { return generated() == 0 && known_.empty(); }

  // Takes the tokens of the resumed request, if there are any, and gives the text that was not delivered. A sampler
  // that needs their logits gets them one by one instead, as Advance is called. A result means that the choice needs
  // nothing more (it was complete, or nothing is to be generated).
  std::optional<Finish> Replay(Delta& delta);

  // Logits [vocabulary] of the last token, used as scratch: chooses the next. A result means that the choice has ended.
  std::optional<Finish> Advance(std::span<float> logits, Delta& delta);

  // Logits of a token of the prompt, at ascending positions (again from the first after a preemption). Once the
  // prompt is complete, TakePromptLogprobs gives all of them.
  void AddPromptRow(int64_t position, std::span<const float> logits);
  std::vector<sampling::TokenLogprob> TakePromptLogprobs() { return std::move(prompt_logprobs_); }

 private:
  std::optional<Finish> Take(int32_t token, Delta& delta);
  std::optional<Finish> Constrain(std::span<float> logits, Delta& delta);
  Finish Fail(absl::Status status, Delta& delta);
  void Slide();
  sampling::Sampler& sampler();
  Finish End(FinishReason reason, Delta& delta);

  const GenerationRequest& request_;
  const uint32_t index_;
  const ChoiceLimits limits_;
  const Vocabulary& vocabulary_;
  const kernels::Kernels& kernels_;
  TokenText tokens_;  // the prompt is the request's
  uint32_t generated_ = 0, dropped_ = 0;
  bool slid_ = false;
  std::vector<int32_t> known_;
  size_t known_taken_ = 0;
  std::optional<sampling::Sampler> sampler_;  // made at the first token: choices may wait long for it
  std::optional<constraint::Matcher> matcher_;
  bool may_end_ = false;  // the constraint allows the text to end here
  output::TextStream text_;
  std::vector<sampling::TokenLogprob> prompt_logprobs_;
  int64_t prompt_rows_ = 0;
  std::vector<float> unmodified_;  // scratch: logits before the sampler changed them
};

}  // namespace inferd::engine
