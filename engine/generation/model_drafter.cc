// Guesses are computed on a fork of the sequence, so that nothing has to be taken back.
#include "engine/generation/model_drafter.h"

#include <algorithm>

namespace inferd::engine {

std::vector<std::vector<int32_t>> ModelDrafter::Draft(std::span<const Wanted> wanted) {
  ++calls_;
  for (const Wanted& one : wanted) sequences_[one.id].last_call = calls_;
  std::vector<std::vector<int32_t>> drafts(wanted.size());
  std::vector<Guessing> guessing = CatchUp(wanted, drafts);
  while (!guessing.empty() && Extend(guessing, drafts)) {
  }
  return drafts;
}

// Whether an otherwise empty cache could, and the draft model knows the tokens after the `computed` first.
bool ModelDrafter::CanHold(const Wanted& wanted, int64_t computed) const {
  const auto size = static_cast<int64_t>(wanted.tokens.size());
  if (size + wanted.most > options_.context_tokens) return false;
  if (cache_.BlocksFor(size) > cache_.Stats().blocks_total) return false;
  for (auto i = static_cast<size_t>(computed); i < wanted.tokens.size(); ++i) {
    if (wanted.tokens[i] >= options_.vocabulary_size) return false;
  }
  return true;
}

// Drops what is computed of the text that was not asked for for the longest time, of those that are idle. False: none.
bool ModelDrafter::DropIdle() {
  Text* oldest = nullptr;
  for (auto& [id, text] : sequences_) {
    if (text.sequence == nullptr || text.last_call + kIdleCalls >= calls_) continue;
    if (oldest == nullptr || text.last_call < oldest->last_call) oldest = &text;
  }
  if (oldest == nullptr) return false;
  oldest->sequence = nullptr;
  return true;
}

template <typename Attempt>
auto ModelDrafter::WithRoom(Attempt attempt) {
  auto result = attempt();
  while (!result.ok() && DropIdle()) result = attempt();
  return result;
}

// nullptr where the draft model has no room for it, now or ever. A text begins where all of it has room: one that lost
// its pages to others would pay for its beginning again and again.
cache::Sequence* ModelDrafter::SequenceOf(const Wanted& wanted) {
  Text& text = sequences_.at(wanted.id);
  if (text.given_up) return nullptr;
  if (!CanHold(wanted, text.sequence == nullptr ? 0 : text.sequence->length())) {
    text.given_up = true;
    text.sequence = nullptr;
    return nullptr;
  }
  if (text.sequence != nullptr) return text.sequence.get();
  const int64_t blocks = cache_.BlocksFor(static_cast<int64_t>(wanted.tokens.size()));
  while (blocks > cache_.AvailableBlocks()) {
    if (!DropIdle()) return nullptr;
  }
  auto created = WithRoom([&] { return cache_.NewSequence({}); });
  if (created.ok()) text.sequence = *std::move(created);
  return text.sequence.get();
}

absl::StatusOr<forward::ForwardResult> ModelDrafter::Run(std::span<const forward::SequenceStep> steps) {
  ++passes_;
  return runner_.Run(steps);
}

// Computes what the draft model has not seen of each text. The first guess of those that are complete goes to `drafts`.
std::vector<ModelDrafter::Guessing> ModelDrafter::CatchUp(std::span<const Wanted> wanted,
                                                          std::vector<std::vector<int32_t>>& drafts) {
  std::vector<forward::SequenceStep> steps;
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
    if (!WithRoom([&] { return cache_.Reserve(*sequence, static_cast<int64_t>(tokens.size())); }).ok()) {
      sequences_.at(wanted[i].id).sequence = nullptr;  // the others get its room
      continue;
    }
    left -= static_cast<int64_t>(tokens.size());
    steps.push_back(
        {.sequence = sequence, .tokens = tokens, .wanted = completes ? forward::Rows::kLast : forward::Rows::kNone});
    if (completes) complete.push_back(i);
  }
  if (steps.empty()) return {};
  absl::StatusOr<forward::ForwardResult> result = Run(steps);
  if (!result.ok()) return {};
  std::vector<Guessing> guessing;
  for (size_t row = 0; row < complete.size(); ++row) {
    const size_t i = complete[row];
    const absl::StatusOr<std::span<float>> logits = result->Row(static_cast<int64_t>(row));
    if (!logits.ok()) return {};
    if (!Add(*logits, drafts[i]) || wanted[i].most < 2) continue;
    auto fork = WithRoom([&] { return cache_.Fork(*sequences_.at(wanted[i].id).sequence); });
    if (fork.ok()) guessing.push_back({.index = i, .most = wanted[i].most, .sequence = *std::move(fork)});
  }
  return guessing;
}

// One more guess for each; false: there is nothing more to do.
bool ModelDrafter::Extend(std::vector<Guessing>& guessing, std::vector<std::vector<int32_t>>& drafts) {
  std::erase_if(guessing, [&](const Guessing& one) {
    return static_cast<int64_t>(drafts[one.index].size()) >= one.most ||
           !WithRoom([&] { return cache_.Reserve(*one.sequence, 1); }).ok();
  });
  if (guessing.empty()) return false;
  std::vector<forward::SequenceStep> steps;
  for (const Guessing& one : guessing) {
    steps.push_back({.sequence = one.sequence.get(),
                     .tokens = std::span<const int32_t>(drafts[one.index]).last(1),
                     .wanted = forward::Rows::kLast});
  }
  absl::StatusOr<forward::ForwardResult> result = Run(steps);
  if (!result.ok()) return false;
  for (size_t row = 0; row < guessing.size(); ++row) {
    Guessing& one = guessing[row];
    const absl::StatusOr<std::span<float>> logits = result->Row(static_cast<int64_t>(row));
    if (!logits.ok()) return false;
    if (!Add(*logits, drafts[one.index])) one.most = 0;
  }
  return true;
}

bool ModelDrafter::Add(std::span<const float> logits, std::vector<int32_t>& draft) const {
  const int32_t best = kernels_.argmax(logits.data(), static_cast<int64_t>(logits.size()));
  if (best >= 0) draft.push_back(best);
  return best >= 0;
}

}  // namespace inferd::engine
