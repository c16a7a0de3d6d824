// A scheduler over counted memory and a fake clock, for tests.
//
//   Create(/*blocks=*/100);
//   Add(1, /*tokens=*/300);
//   EXPECT_EQ(Step(), (Counts{{1, 256}}));
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "engine/scheduler/fake_kv_memory.h"
#include "engine/scheduler/scheduler.h"

namespace inferd::scheduler {

class SchedulerTest : public testing::Test {
 protected:
  void Create(int64_t blocks, const SchedulerOptions& options = {}) {
    memory_ = std::make_unique<FakeKvMemory>(blocks);
    scheduler_ = std::make_unique<Scheduler>(options, *memory_);
  }
  void Add(SequenceId id, int64_t tokens, Priority priority = Priority::kNormal) {
    scheduler_->Add({.id = id, .tokens = tokens, .priority = priority, .arrival = clock_.Now()});
  }
  // Plans and computes a step in which every completed sequence gets a token; returns tokens computed by sequence.
  std::map<SequenceId, int64_t> Step() {
    plan_ = scheduler_->Plan(clock_.Now());
    scheduler_->Computed(plan_.work);
    std::map<SequenceId, int64_t> counts;
    for (const Work& work : plan_.work) {
      counts[work.id] = work.count;
      if (work.completes) scheduler_->Append(work.id);
    }
    return counts;
  }
  SequenceState State(SequenceId id) { return scheduler_->Find(id)->state; }

  using Counts = std::map<SequenceId, int64_t>;
  FakeClock clock_;
  std::unique_ptr<FakeKvMemory> memory_;
  std::unique_ptr<Scheduler> scheduler_;
  StepPlan plan_;
};

}  // namespace inferd::scheduler
