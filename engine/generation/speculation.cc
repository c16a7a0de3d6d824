// See the header.
#include "engine/generation/speculation.h"

#include <algorithm>

namespace inferd::engine {

void Speculation::Propose(std::span<const Candidate> candidates) {
  guesses_.clear();
  step_has_certain_ = false;
  step_begin_proposed_ = proposed_;
  step_begin_accepted_ = accepted_;
  step_begin_passes_ = drafter_ == nullptr ? 0 : drafter_->passes();
  const auto add = [this](scheduler::SequenceId id, std::span<const int32_t> tokens, bool certain) {
    // A draft model may have more rows than the model has tokens.
    const auto end = std::find_if(tokens.begin(), tokens.end(),
                                  [this](int32_t token) { return token < 0 || token >= vocabulary_size_; });
    tokens = tokens.first(static_cast<size_t>(end - tokens.begin()));
    if (tokens.empty()) return;
    Guess& guess = guesses_[id];
    guess = {.tokens = {0}, .certain = certain};
    guess.tokens.insert(guess.tokens.end(), tokens.begin(), tokens.end());
  };
  std::vector<Drafter::Wanted> wanted;
  for (const Candidate& candidate : candidates) {
    const int64_t most = std::min(candidate.most, limits_.max_tokens);
    if (!candidate.known.empty()) {
      add(candidate.id, candidate.known.first(std::min<size_t>(candidate.known.size(), std::max<int64_t>(most, 0))),
          true);
    } else if (most > 0) {
      const auto worth = worth_.find(candidate.id);
      wanted.push_back({.id = candidate.id,
                        .tokens = candidate.tokens,
                        .most = worth == worth_.end() ? most : std::min(most, worth->second)});
    }
  }
  const auto sequences = static_cast<int64_t>(candidates.size());
  if (drafter_ == nullptr || sequences > limits_.max_batch || !gain_.Pays(sequences)) return;
  const std::vector<std::vector<int32_t>> drafts = drafter_->Draft(wanted);
  for (size_t i = 0; i < wanted.size(); ++i) add(wanted[i].id, drafts[i], false);
}

void Speculation::Keep(scheduler::SequenceId id, size_t count) {
  const auto guess = guesses_.find(id);
  if (guess == guesses_.end() || guess->second.certain || count + 1 >= guess->second.tokens.size()) return;
  guess->second.tokens.resize(count + 1);
  if (count == 0) guesses_.erase(guess);
}

std::span<const int32_t> Speculation::Drafts(scheduler::SequenceId id) const {
  const auto guess = guesses_.find(id);
  if (guess == guesses_.end()) return {};
  return std::span(guess->second.tokens).subspan(1);
}

std::span<const int32_t> Speculation::WithDrafts(scheduler::SequenceId id, int32_t last, int64_t drafts) {
  std::vector<int32_t>& tokens = guesses_.at(id).tokens;
  tokens[0] = last;
  return std::span(tokens).first(static_cast<size_t>(drafts) + 1);
}

void Speculation::Judge(scheduler::SequenceId id, size_t proposed, size_t accepted, bool goes_on) {
  if (guesses_.at(id).certain) {
    step_has_certain_ = true;
    return;
  }
  proposed_ += proposed;
  accepted_ += accepted;
  if (!goes_on) return;
  if (accepted < proposed) {
    worth_[id] = static_cast<int64_t>(accepted) + 1;
  } else if (const auto worth = worth_.find(id); worth != worth_.end()) {
    worth->second = std::max(worth->second, 2 * static_cast<int64_t>(proposed));
  }
}

void Speculation::StepDone(int64_t sequences, double seconds) {
  if (step_has_certain_ || drafter_ == nullptr) return;
  gain_.StepDone({.sequences = sequences,
                  .guesses = static_cast<int64_t>(proposed_ - step_begin_proposed_),
                  .accepted = static_cast<int64_t>(accepted_ - step_begin_accepted_),
                  .drafted = drafter_->passes() > step_begin_passes_,
                  .seconds = seconds});
}

void Speculation::Forget(scheduler::SequenceId id) {
  worth_.erase(id);
  if (drafter_ != nullptr) drafter_->Forget(id);
}

}  // namespace inferd::engine
