// Who waits for the beginning of another's prompt, and where that one stops for it.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/scheduler/scheduler.h"
#include "engine/scheduler/state_stops.h"

namespace inferd::scheduler {
namespace {

// What two sequences have in common of which each shares this with a third.
SharedPrefix Common(const SharedPrefix& a, const SharedPrefix& b) {
  if (a.tokens == b.tokens && a.tail == b.tail) return a;
  return {.leader = a.leader, .tokens = std::min(a.tokens, b.tokens)};
}

}  // namespace

// The leader was cancelled, or its text is another now: of those that wait for it, the best computes the beginning for
// the others.
void Scheduler::HandOver(Sequence& leader) {
  if (!std::exchange(leader.leads, false)) return;
  Ranked followers;
  for (auto& [id, sequence] : sequences_) {
    std::optional<SharedPrefix>& shared = sequence.spec.shared_prefix;
    if (!sequence.waiting() || !shared || shared->leader != leader.spec.id) continue;
    if (shared->end() > leader.computed) {
      followers.push_back(&sequence);
    } else {
      shared->leader = kNoLeader;  // the cache has it
    }
  }
  if (followers.empty()) return;
  Sequence& heir = **std::ranges::min_element(followers, {}, [this](const Sequence* s) { return RankOf(*s); });
  const SharedPrefix inherited = *std::exchange(heir.spec.shared_prefix, std::nullopt);
  heirs_.push_back({.leader = leader.spec.id, .heir = heir.spec.id, .tokens = inherited.end()});
  for (Sequence* follower : followers) {
    std::optional<SharedPrefix>& shared = follower->spec.shared_prefix;
    if (!shared) continue;
    shared = Common(*shared, inherited);
    shared->leader = heir.spec.id;
    if (shared->end() == 0) shared.reset();
    heir.leads = true;
  }
}

// The leader is ahead in the queue or running, so waiting for it ends.
bool Scheduler::WaitsForLeader(const Sequence& sequence) const {
  if (!sequence.spec.shared_prefix) return false;
  const Sequence* leader = Find(sequence.spec.shared_prefix->leader);
  return leader != nullptr && leader->state != SequenceState::kDecode && RankOf(*leader) < RankOf(sequence) &&
         leader->computed < sequence.spec.shared_prefix->end();
}

// Without a free place nobody would take a tail.
Scheduler::Stops Scheduler::StopsForFollowers() const {
  Stops stops;
  for (const auto& [id, sequence] : sequences_) {
    if (!sequence.waiting() || !WaitsForLeader(sequence)) continue;
    const SharedPrefix& shared = *sequence.spec.shared_prefix;
    const bool takes_tail = shared.tail > 0 && CountRunning() < options_.max_sequences;
    if (!takes_tail && options_.state_page_tokens == 0) continue;
    const int64_t stop = takes_tail ? shared.end() : shared.tokens;
    const auto [place, first] = stops.try_emplace(shared.leader, stop);
    if (!first) place->second = std::min(place->second, stop);
  }
  return stops;
}

// Tokens of a prompt that a step takes at most.
int64_t Scheduler::TokensToStop(const Sequence& sequence, const Stops& stops) const {
  const int64_t tokens = TokensToLastPage(sequence.computed, sequence.tokens, options_.state_page_tokens);
  const auto stop = stops.find(sequence.spec.id);
  if (stop == stops.end() || stop->second <= sequence.computed) return tokens;
  return std::min(tokens, stop->second - sequence.computed);
}

}  // namespace inferd::scheduler
