// Each method is one call of the cache.
#include "engine/generation/sequence_memory.h"

#include "config/base/status.h"

namespace inferd::engine {

int64_t SequenceMemory::Start(scheduler::SequenceId id) {
  const Description& description = descriptions_.at(id);
  absl::StatusOr<std::unique_ptr<cache::Sequence>> sequence = cache_.NewSequence(description.key);
  if (!sequence.ok()) return -1;
  std::vector<int32_t> scratch;
  const int64_t cached =
      description.reuse_prefix ? cache_.AttachPrefix(**sequence, description.tokens->view().All(scratch)) : 0;
  const bool started = sequences_.emplace(id, *std::move(sequence)).second;
  CHECK(started);
  return cached;
}

bool SequenceMemory::Reserve(scheduler::SequenceId id, int64_t tokens) {
  return cache_.Reserve(*sequences_.at(id), tokens).ok();
}

void SequenceMemory::Release(scheduler::SequenceId id) { sequences_.erase(id); }

}  // namespace inferd::engine
