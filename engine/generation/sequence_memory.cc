// Each method is one call of the cache.
#include "engine/generation/sequence_memory.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::engine {

// The sequence that has just computed all that it shares with this one, and nothing more. Where the prefix cache knows
// more of this one's text, there is none.
const cache::Sequence* SequenceMemory::LeaderOf(const scheduler::SequenceSpec& spec) const {
  if (!spec.shared_prefix) return nullptr;
  const auto found = sequences_.find(spec.shared_prefix->leader);
  if (found == sequences_.end() || found->second->length() != spec.shared_prefix->end()) return nullptr;
  const Description& description = descriptions_.at(spec.id);
  const Description& leader = descriptions_.at(found->first);
  const size_t shared = static_cast<size_t>(found->second->length());
  if (!(leader.key == description.key) || description.tokens->size() <= shared) return nullptr;
  std::vector<int32_t> scratch, leaders_scratch;
  const bool same = std::ranges::equal(description.tokens->view().Piece(0, shared, scratch),
                                       leader.tokens->view().Piece(0, shared, leaders_scratch));
  if (!same) return nullptr;
  const auto length = static_cast<int64_t>(shared);
  return cache_.CountKnown(description.key, description.tokens->view().All(scratch)) <= length ? found->second.get()
                                                                                               : nullptr;
}

int64_t SequenceMemory::Start(const scheduler::SequenceSpec& spec) {
  const Description& description = descriptions_.at(spec.id);
  const cache::Sequence* leader = LeaderOf(spec);
  absl::StatusOr<std::unique_ptr<cache::Sequence>> sequence =
      leader != nullptr ? cache_.Fork(*leader) : cache_.NewSequence(description.key);
  if (!sequence.ok()) return -1;
  std::vector<int32_t> scratch;
  if (leader == nullptr && description.reuse_prefix) {
    cache_.AttachPrefix(**sequence, description.tokens->view().All(scratch));
  }
  const int64_t length = (*sequence)->length();
  const bool started = sequences_.emplace(spec.id, *std::move(sequence)).second;
  CHECK(started);
  return length;
}

bool SequenceMemory::Reserve(scheduler::SequenceId id, int64_t tokens) {
  return cache_.Reserve(*sequences_.at(id), tokens).ok();
}

std::vector<int64_t> SequenceMemory::FreedBlocks(std::span<const scheduler::SequenceId> in_order) const {
  std::vector<const cache::Sequence*> sequences;
  for (scheduler::SequenceId id : in_order) sequences.push_back(sequences_.at(id).get());
  return cache_.FreedBlocks(sequences);
}

void SequenceMemory::Release(scheduler::SequenceId id) { sequences_.erase(id); }

}  // namespace inferd::engine
