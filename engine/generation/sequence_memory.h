// The KV cache as the scheduler sees it: room by sequence id.
//
//   SequenceMemory memory(cache, [](int) { return false; });
//   memory.Describe(id, {.tokens = &choice.tokens(), .key = {.tenant_salt = salt}});
//   scheduler::Scheduler scheduler(options, memory);
//   forward::SequenceStep step{.sequence = memory.Get(id), ...};
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/generation/token_text.h"
#include "engine/scheduler/kv_memory.h"

namespace inferd::engine {

class SequenceMemory : public scheduler::KvMemory {
 public:
  struct Description {
    const TokenText* tokens = nullptr;  // known so far; outlives the sequence
    cache::PrefixKey key;
    bool reuse_prefix = true;
  };

  // `release_others`: as KvMemory::ReleaseOthers.
  SequenceMemory(cache::KvCache& cache, std::function<bool(int priority)> release_others)
      : cache_(cache), release_others_(std::move(release_others)) {}

  // Before the scheduler hears of the sequence, and after it has ended.
  void Describe(scheduler::SequenceId id, Description description) { descriptions_[id] = description; }
  void Forget(scheduler::SequenceId id) { descriptions_.erase(id); }

  // Only while the scheduler runs the sequence.
  cache::Sequence* Get(scheduler::SequenceId id) const { return sequences_.at(id).get(); }

  int64_t Start(const scheduler::SequenceSpec& spec) override;
  bool Reserve(scheduler::SequenceId id, int64_t tokens) override;
  void Release(scheduler::SequenceId id) override;
  bool ReleaseOthers(int priority) override { return release_others_(priority); }
  std::vector<int64_t> FreedBlocks(std::span<const scheduler::SequenceId> in_order) const override;
  int64_t AvailableBlocks() const override { return cache_.AvailableBlocks(); }
  int64_t BlocksFor(int64_t tokens) const override { return cache_.BlocksFor(tokens); }

 private:
  const cache::Sequence* LeaderOf(const scheduler::SequenceSpec& spec) const;

  cache::KvCache& cache_;
  const std::function<bool(int)> release_others_;
  std::map<scheduler::SequenceId, Description> descriptions_;
  std::map<scheduler::SequenceId, std::unique_ptr<cache::Sequence>> sequences_;
};

}  // namespace inferd::engine
