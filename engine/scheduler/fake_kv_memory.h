// KV memory for tests of the scheduler: blocks of 64 tokens in a pool, counted.
//
//   FakeKvMemory memory(/*blocks=*/10);
//   memory.cached[7] = 128;                        // the prefix cache knows 128 tokens of sequence 7
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/scheduler/kv_memory.h"

namespace inferd::scheduler {

class FakeKvMemory : public KvMemory {
 public:
  explicit FakeKvMemory(int64_t blocks) : total_(blocks) {}

  int64_t Start(const SequenceSpec& spec) override {
    const SequenceId id = spec.id;
    EXPECT_FALSE(held_.contains(id)) << "sequence " << id << " starts twice";
    const int64_t tokens = cached.contains(id) ? cached[id] : 0;
    if (BlocksFor(tokens) > AvailableBlocks()) return -1;
    held_[id] = tokens;
    used_ += BlocksFor(tokens);
    return tokens;
  }
  bool Reserve(SequenceId id, int64_t tokens) override {
    const auto held = held_.find(id);
    if (held == held_.end()) {
      ADD_FAILURE() << "sequence " << id << " was not started";
      return false;
    }
    const int64_t more = BlocksFor(held->second + tokens) - BlocksFor(held->second);
    if (more > AvailableBlocks()) return false;
    held->second += tokens;
    used_ += more;
    return true;
  }
  void Release(SequenceId id) override {
    const auto held = held_.find(id);
    if (held == held_.end()) {
      ADD_FAILURE() << "sequence " << id << " is released twice";
      return;
    }
    used_ -= BlocksFor(held->second);
    held_.erase(held);
  }
  bool ReleaseOthers(int priority) override { return others_priority >= priority && std::exchange(others, 0) > 0; }
  std::vector<int64_t> FreedBlocks(std::span<const SequenceId> in_order) const override {
    std::vector<int64_t> freed;
    int64_t sharers = 0;
    for (const auto& [id, tokens] : held_) sharers += shared.contains(id) ? 1 : 0;
    for (SequenceId id : in_order) {
      const bool keeps = shared.contains(id) && --sharers > 0;
      freed.push_back(BlocksFor(held_.at(id)) - (keeps ? shared_blocks : 0));
    }
    return freed;
  }
  int64_t AvailableBlocks() const override { return total_ - used_ - others; }
  int64_t BlocksFor(int64_t tokens) const override { return (tokens + 63) / 64; }

  int64_t used() const { return used_; }
  std::map<SequenceId, int64_t> cached;
  std::set<SequenceId> shared;  // sequences that have so many blocks in common (AvailableBlocks does not know)
  int64_t shared_blocks = 0;
  int64_t others = 0;  // blocks that the scheduler knows nothing of
  int others_priority = static_cast<int>(Priority::kNormal);

 private:
  int64_t total_, used_ = 0;
  std::map<SequenceId, int64_t> held_;  // tokens reserved
};

}  // namespace inferd::scheduler
