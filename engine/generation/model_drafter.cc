// Guesses are computed on a fork of the sequence, so that nothing has to be taken back.
#include "engine/generation/model_drafter.h"

#include <algorithm>

namespace inferd::engine {

std::vector<std::vector<int32_t>> ModelDrafter::Draft(std::span<const Wanted> wanted) {
  std::vector<std::vector<int32_t>> drafts(wanted.size());
  std::vector<Guessing> guessing = CatchUp(wanted, drafts);
  while (!guessing.empty() && Extend(guessing, drafts)) {
  }
  return drafts;
}

// nullptr where the draft model has no room for it.
cache::Sequence* ModelDrafter::SequenceOf(const Wanted& wanted) {
  const auto size = static_cast<int64_t>(wanted.tokens.size());
  if (size + wanted.most > options_.context_tokens) return nullptr;
  std::unique_ptr<cache::Sequence>& sequence = sequences_[wanted.id];
  if (sequence == nullptr) {
    absl::StatusOr<std::unique_ptr<cache::Sequence>> created = cache_.NewSequence({});
    if (!created.ok()) return nullptr;
    sequence = *std::move(created);
  }
  for (size_t i = static_cast<size_t>(sequence->length()); i < wanted.tokens.size(); ++i) {
    if (wanted.tokens[i] >= options_.vocabulary_size) return nullptr;
  }
  return sequence.get();
}

// Computes what the draft model has not seen of each text. The first guess of those that are complete goes to `drafts`.
std::vector<ModelDrafter::Guessing> ModelDrafter::CatchUp(std::span<const Wanted> wanted,
                                                          std::vector<std::vector<int32_t>>& drafts) {
  std::vector<model::SequenceStep> steps;
  std::vector<std::vector<int32_t>> pieces(wanted.size());
  std::vector<size_t> complete;
  int64_t left = options_.pass_tokens;
  for (size_t i = 0; i < wanted.size() && left > 0; ++i) {
    cache::Sequence* sequence = SequenceOf(wanted[i]);
    if (sequence == nullptr) continue;
    const auto first = static_cast<size_t>(sequence->length());
    const size_t missing = wanted[i].tokens.size() - first, count = std::min(missing, static_cast<size_t>(left));
    const bool completes = count == missing;
    const std::span<const int32_t> tokens = wanted[i].tokens.Piece(first, count, pieces[i]);
    if (!cache_.Reserve(*sequence, static_cast<int64_t>(tokens.size())).ok()) {
      Forget(wanted[i].id);
      continue;
    }
    left -= static_cast<int64_t>(tokens.size());
    steps.push_back(
        {.sequence = sequence, .tokens = tokens, .wanted = completes ? model::Rows::kLast : model::Rows::kNone});
    if (completes) complete.push_back(i);
  }
  if (steps.empty()) return {};
  absl::StatusOr<model::ForwardResult> result = runner_.Run(steps);
  if (!result.ok()) return {};
  std::vector<Guessing> guessing;
  for (size_t row = 0; row < complete.size(); ++row) {
    const size_t i = complete[row];
    if (!Add(result->Row(static_cast<int64_t>(row)), drafts[i]) || wanted[i].most < 2) continue;
    absl::StatusOr<std::unique_ptr<cache::Sequence>> fork = cache_.Fork(*sequences_.at(wanted[i].id));
    if (fork.ok()) guessing.push_back({.index = i, .most = wanted[i].most, .sequence = *std::move(fork)});
  }
  return guessing;
}

// One more guess for each; false: there is nothing more to do.
bool ModelDrafter::Extend(std::vector<Guessing>& guessing, std::vector<std::vector<int32_t>>& drafts) {
  std::erase_if(guessing, [&](const Guessing& one) {
    return static_cast<int64_t>(drafts[one.index].size()) >= one.most || !cache_.Reserve(*one.sequence, 1).ok();
  });
  if (guessing.empty()) return false;
  std::vector<model::SequenceStep> steps;
  for (const Guessing& one : guessing) {
    steps.push_back({.sequence = one.sequence.get(),
                     .tokens = std::span<const int32_t>(drafts[one.index]).last(1),
                     .wanted = model::Rows::kLast});
  }
  absl::StatusOr<model::ForwardResult> result = runner_.Run(steps);
  if (!result.ok()) return false;
  for (size_t row = 0; row < guessing.size(); ++row) {
    Guessing& one = guessing[row];
    if (!Add(result->Row(static_cast<int64_t>(row)), drafts[one.index])) one.most = 0;
  }
  return true;
}

bool ModelDrafter::Add(std::span<const float> logits, std::vector<int32_t>& draft) const {
  const int32_t best = kernels_.argmax(logits.data(), static_cast<int64_t>(logits.size()));
  if (best >= 0) draft.push_back(best);
  return best >= 0;
}

}  // namespace inferd::engine
