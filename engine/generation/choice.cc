// See the header: sample, detokenize, decide whether to go on.
#include "engine/generation/choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/refusal.h"

namespace inferd::engine {
namespace {

const ResumedChoice* FindResumed(const GenerationRequest& request, uint32_t index) {
  for (const ResumedChoice& resumed : request.resumed) {
    if (resumed.choice == index) return &resumed;
  }
  return nullptr;
}

output::TextStreamOptions TextOptions(const GenerationRequest& request, uint32_t index,
                                      std::shared_ptr<const output::StopTexts> stops) {
  const ResumedChoice* resumed = FindResumed(request, index);
  return {.stops = std::move(stops),
          .include_stop = request.include_stop,
          .min_tokens = request.min_tokens,
          .delivered_bytes = resumed != nullptr ? resumed->delivered_bytes : 0,
          .parser = request.make_parser(index)};
}

bool Contains(const std::vector<int32_t>& ascending, int32_t token) {
  return std::binary_search(ascending.begin(), ascending.end(), token);
}

void Append(std::vector<output::OutputPart> parts, Delta& delta) {
  std::move(parts.begin(), parts.end(), std::back_inserter(delta.parts));
}

}  // namespace

Choice::Choice(const GenerationRequest& request, uint32_t index, std::shared_ptr<const output::StopTexts> stops,
               const ChoiceLimits& limits, const Vocabulary& vocabulary, const kernels::Kernels& kernels)
    : request_(request),
      index_(index),
      limits_(limits),
      vocabulary_(vocabulary),
      kernels_(kernels),
      tokens_(request.prompt),
      text_(TextOptions(request, index, std::move(stops))) {
  if (request.constraint) matcher_.emplace(*request.constraint);
}

sampling::Sampler& Choice::sampler() {
  if (!sampler_) {
    sampler_.emplace(request_.sampling, request_.text_rules,
                     sampling::SamplerStart{.seed = request_.seed,
                                            .choice = index_,
                                            .min_tokens = request_.min_tokens,
                                            .stop_tokens = request_.stop_tokens},
                     vocabulary_.end_of_generation, kernels_);
    sampler_->AcceptPrompt(request_.prompt);
  }
  return *sampler_;
}

std::optional<Finish> Choice::Replay(Delta& delta) {
  const ResumedChoice* resumed = FindResumed(request_, index_);
  if (resumed == nullptr) return std::nullopt;
  if (sampler().needs_recall()) {
    known_ = resumed->tokens;
    return std::nullopt;
  }
  for (int32_t token : resumed->tokens) {
    if (std::optional<Finish> finish = Take(token, delta)) return finish;
  }
  return std::nullopt;
}

std::optional<Finish> Choice::Advance(std::span<float> logits, Delta& delta) {
  if (!kernels_.all_finite(logits.data(), static_cast<int64_t>(logits.size()))) {
    Finish finish = End(FinishReason::kError, delta);
    finish.error = Internal("the model's logits are not finite");
    finish.nonfinite_logits = true;
    return finish;
  }
  if (limits_.most_tokens == 0) return End(FinishReason::kLength, delta);
  if (request_.logprobs) unmodified_.assign(logits.begin(), logits.end());
  if (std::optional<Finish> finish = Constrain(logits, delta)) return finish;
  if (!known().empty()) {
    const int32_t token = known_[known_taken_++];
    sampler().Recall(logits, token);
    return Take(token, delta);
  }
  const int32_t token = sampler().Sample(logits);
  if (token == sampling::kNoToken) {
    if (may_end_) return End(FinishReason::kStop, delta);
    return Fail(InvalidField(matcher_ ? "constraint" : "logit_bias",
                             "no token is left, it bans all of them together with allowed_token_ids, bad_words, "
                             "min_tokens or ignore_eos"),
                delta);
  }
  if (Contains(vocabulary_.end_of_generation, token)) return End(FinishReason::kStop, delta);
  if (Contains(request_.stop_tokens, token) && !request_.include_stop) return End(FinishReason::kStop, delta);
  if (request_.logprobs) {
    delta.logprobs.push_back(sampling::LogprobOf(unmodified_, token, *request_.logprobs, kernels_));
  }
  delta.tokens.push_back(token);
  return Take(token, delta);
}

// Bans what the constraint does not allow.
std::optional<Finish> Choice::Constrain(std::span<float> logits, Delta& delta) {
  if (!matcher_) return std::nullopt;
  const absl::StatusOr<constraint::Matcher::Allowed> allowed = matcher_->Next();
  if (!allowed.ok()) return Fail(allowed.status(), delta);
  may_end_ = allowed->ends;
  if (allowed->tokens->empty()) {
    if (may_end_) return End(FinishReason::kStop, delta);
    return Fail(InvalidField("constraint", "no token of the vocabulary goes on as it asks"), delta);
  }
  using Tokens = std::span<const int32_t>;
  allowed->tokens->Apply(may_end_ ? Tokens(vocabulary_.end_of_generation) : Tokens(), logits);
  return std::nullopt;
}

std::optional<Finish> Choice::Take(int32_t token, Delta& delta) {
  tokens_.push_back(token);
  ++generated_;
  sampler().Accept(token);
  if (matcher_) {
    if (const absl::Status status = matcher_->Accept(token); !status.ok()) return Fail(status, delta);
  }
  const bool with_special = Contains(request_.spelled_tokens, token);
  Append(text_.Push(vocabulary_.token_bytes(token, with_special)), delta);
  if (text_.stopped()) {
    Finish finish = End(FinishReason::kStop, delta);
    finish.stop_text = *text_.stopped();
    return finish;
  }
  if (Contains(request_.stop_tokens, token)) return End(FinishReason::kStop, delta);
  if (text_.ended() || (matcher_ && matcher_->complete())) return End(FinishReason::kStop, delta);
  if (generated() >= limits_.most_tokens) return End(FinishReason::kLength, delta);
  if (static_cast<int64_t>(tokens_.size()) >= limits_.window) Slide();
  return std::nullopt;
}

// The older half after the first `keep` tokens goes.
void Choice::Slide() {
  const int64_t keep = request_.overflow.keep;
  const int64_t dropped = (static_cast<int64_t>(tokens_.size()) - keep) / 2;
  tokens_.Erase(static_cast<size_t>(keep), static_cast<size_t>(dropped));
  dropped_ += static_cast<uint32_t>(dropped);
  slid_ = true;
}

Finish Choice::Fail(absl::Status status, Delta& delta) {
  Finish finish = End(FinishReason::kError, delta);
  finish.error = ToPermanent(status);
  return finish;
}

Finish Choice::End(FinishReason reason, Delta& delta) {
  Append(text_.Finish(), delta);
  if (reason == FinishReason::kStop && text_.has_tool_calls()) reason = FinishReason::kToolCalls;
  return {.reason = reason};
}

void Choice::AddPromptRow(int64_t position, std::span<const float> logits) {
  const int64_t next = position + 1;
  if (position != prompt_rows_ || next >= static_cast<int64_t>(request_.prompt.size())) return;
  ++prompt_rows_;
  prompt_logprobs_.push_back(
      sampling::LogprobOf(logits, request_.prompt[next], request_.logprobs.value_or(0), kernels_));
}

}  // namespace inferd::engine
