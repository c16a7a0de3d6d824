// What the scheduler asks of the KV cache: room for tokens, by sequence. Tests replace it by a counter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/scheduler/sequence.h"

namespace inferd::scheduler {

class KvMemory {
 public:
  virtual ~KvMemory() = default;

  // A sequence begins (again); returns how many of its tokens the prefix cache had, fewer than all of them. -1: there
  // is no place for one more sequence.
  virtual int64_t Start(const SequenceSpec& spec) = 0;
  // Room for `tokens` more than are computed. False, and nothing changed, if there is none. 0: what was reserved is not
  // computed, after all.
  virtual bool Reserve(SequenceId id, int64_t tokens) = 0;
  // Gives back all that the sequence holds.
  virtual void Release(SequenceId id) = 0;
  // Takes back something that users of the pool hold whom the scheduler does not know, of an effective priority not
  // better than this; kBestPriority: of any. False: they hold nothing of that kind.
  virtual bool ReleaseOthers(int priority) = 0;

  // That come free with each of these when they end one after the other: a block that several share, with the last.
  virtual std::vector<int64_t> FreedBlocks(std::span<const SequenceId> in_order) const = 0;
  virtual int64_t AvailableBlocks() const = 0;          // that Reserve could get now
  virtual int64_t BlocksFor(int64_t tokens) const = 0;  // that a sequence of that many tokens holds at most
};

}  // namespace inferd::scheduler
