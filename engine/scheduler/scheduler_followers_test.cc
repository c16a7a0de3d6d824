// Prompts that wait for the beginning of another's.
#include "engine/scheduler/testing_scheduler.h"

namespace inferd::scheduler {
namespace {

TEST_F(SchedulerTest, ASharedPrefixIsWaitedForWhileItsLeaderComputesIt) {
  Create(100, {.prefill_tokens = 128});
  Add(1, 500);
  scheduler_->Add({.id = 2, .tokens = 300, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 256}});
  EXPECT_EQ(Step(), (Counts{{1, 128}}));
  EXPECT_EQ(Step(), (Counts{{1, 128}}));
  memory_->cached[2] = 256;
  EXPECT_EQ(Step().at(2), 44);
}

TEST_F(SchedulerTest, ALostLeaderIsNotWaitedFor) {
  Create(100);
  Add(1, 500);
  scheduler_->Add({.id = 2, .tokens = 300, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 256}});
  scheduler_->Cancel(1);
  EXPECT_EQ(Step(), (Counts{{2, 256}}));
}

TEST_F(SchedulerTest, OneOfItsFollowersTakesTheWorkOfACancelledLeader) {
  struct Case {
    SharedPrefix second, third;
    Counts after;  // the step after the leader's end
  };
  const Case cases[] = {
      {{1, 64}, {1, 128}, {{2, 200}}},             // 64 in common
      {{1, 192, 7}, {1, 192, 7}, {{2, 199}}},      // equal texts
      {{1, 192, 7}, {1, 128}, {{2, 200}}},         //
      {{1, 0, 40}, {1, 64}, {{2, 192}, {3, 64}}},  // nothing
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.second.tokens << " and " << c.third.tokens << " tokens in common");
    Create(100);
    Add(1, 200);
    scheduler_->Add({.id = 2, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = c.second});
    scheduler_->Add({.id = 3, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = c.third});
    scheduler_->Cancel(1);
    EXPECT_EQ(Step(), c.after);
  }
}

TEST_F(SchedulerTest, AnHeirStillLeadsThoseThatFollowedItBefore) {
  Create(100);
  Add(1, 200);
  scheduler_->Add({.id = 2, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 64}});
  for (SequenceId id : {3, 4}) {
    scheduler_->Add({.id = id, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{2, 128}});
  }
  scheduler_->Cancel(1);
  scheduler_->Cancel(2);
  EXPECT_EQ(Step(), (Counts{{3, 200}})) << "the last waits for it";
}

TEST_F(SchedulerTest, AnHeirIsNamedOnceAndWithWhatItShares) {
  Create(100);
  Add(1, 200);
  for (SequenceId id : {2, 3}) {
    scheduler_->Add({.id = id, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192, 7}});
  }
  scheduler_->Cancel(1);
  const std::vector<Heir> heirs = scheduler_->TakeHeirs();
  ASSERT_EQ(heirs.size(), 1u);
  EXPECT_EQ(heirs[0].leader, 1u);
  EXPECT_EQ(heirs[0].heir, 2u);
  EXPECT_EQ(heirs[0].tokens, 199);
  EXPECT_TRUE(scheduler_->TakeHeirs().empty());
}

TEST_F(SchedulerTest, WhatACancelledLeaderHasComputedIsKnown) {
  Create(100, {.max_sequences = 1});
  Add(1, 200);
  scheduler_->Add({.id = 2, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192}});
  Step();
  EXPECT_EQ(scheduler_->load().prefill_tokens, 8);
  scheduler_->Cancel(1);
  EXPECT_EQ(scheduler_->load().prefill_tokens, 8);
  EXPECT_TRUE(scheduler_->TakeHeirs().empty());
}

TEST_F(SchedulerTest, ATextThatHasChangedHasNothingInCommonWithOthers) {
  Create(100, {.max_sequences = 3});
  Add(1, 200);
  for (SequenceId id : {2, 3, 4}) {
    memory_->cached[id] = 192;
    scheduler_->Add({.id = id, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192}});
  }
  Step();
  Step();
  scheduler_->Computed(scheduler_->Plan(clock_.Now()).work);
  for (SequenceId id : {1, 2}) scheduler_->Restart(id, 150);
  scheduler_->Append(3);
  memory_->cached.clear();
  EXPECT_EQ(scheduler_->load().prefill_tokens, 150 + 150 + 8) << "the last has its beginning from the cache";
  scheduler_->Cancel(1);
  EXPECT_TRUE(scheduler_->TakeHeirs().empty());
  EXPECT_EQ(Step().at(2), 150);
}

TEST_F(SchedulerTest, ASharedPrefixIsOneLoad) {
  Create(100);
  Add(1, 1000);
  for (SequenceId id = 2; id <= 16; ++id) {
    scheduler_->Add({.id = id, .tokens = 1000, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 960}});
  }
  EXPECT_EQ(scheduler_->load().prefill_tokens, 1000 + 15 * 40);
  Step();
  EXPECT_EQ(scheduler_->load().prefill_tokens, 744 + 15 * 40);
  scheduler_->Cancel(1);
  EXPECT_EQ(scheduler_->load().prefill_tokens, 1000 + 14 * 40) << "the next one computes it";
}

TEST_F(SchedulerTest, ALeaderStopsBeforeItsLastTokenForThoseThatGoOnFromIt) {
  Create(100);
  Add(1, 200);
  for (SequenceId id : {2, 3}) {
    memory_->cached[id] = 199;
    scheduler_->Add({.id = id, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192, 7}});
  }
  EXPECT_EQ(scheduler_->load().prefill_tokens, 200 + 2);
  EXPECT_EQ(Step(), (Counts{{1, 199}}));
  EXPECT_EQ(scheduler_->load().prefill_tokens, 3);
  EXPECT_EQ(Step(), (Counts{{1, 1}, {2, 1}, {3, 1}}));
}

TEST_F(SchedulerTest, ALeaderStopsForNobodyWithoutAPlace) {
  Create(100, {.max_sequences = 1});
  Add(1, 200);
  scheduler_->Add({.id = 2, .tokens = 200, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192, 7}});
  EXPECT_EQ(Step(), (Counts{{1, 200}}));
  EXPECT_EQ(scheduler_->load().prefill_tokens, 8) << "the pages are known, the rest has gone on";
}

TEST_F(SchedulerTest, PromptsOfARecurrentModelStopAtTheirLastPage) {
  Create(100, {.state_page_tokens = 64});
  for (SequenceId id : {1, 2, 3, 4}) Add(id, 100);
  EXPECT_EQ(Step(), (Counts{{1, 64}, {2, 64}, {3, 64}, {4, 64}})) << "what one leaves of the budget, others take";
  EXPECT_EQ(Step(), (Counts{{1, 36}, {2, 36}, {3, 36}, {4, 36}}));
}

TEST_F(SchedulerTest, ALeaderWithARecurrentStateStopsWhereAFollowerParts) {
  Create(100, {.state_page_tokens = 64});
  Add(1, 500);
  scheduler_->Add({.id = 2, .tokens = 300, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192}});
  EXPECT_EQ(scheduler_->load().prefill_tokens, 500 + 108);
  EXPECT_EQ(Step(), (Counts{{1, 192}}));
  memory_->cached[2] = 192;
  EXPECT_EQ(Step(), (Counts{{1, 192}, {2, 64}})) << "64 of 256 to the second, whose last page ends there";
}

TEST_F(SchedulerTest, ALeaderThatHasGoneOnLeftNoRecurrentState) {
  Create(100, {.state_page_tokens = 64});
  Add(1, 500);
  EXPECT_EQ(Step(), (Counts{{1, 256}}));
  scheduler_->Add({.id = 2, .tokens = 300, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 192}});
  scheduler_->Add({.id = 3, .tokens = 300, .arrival = clock_.Now(), .shared_prefix = SharedPrefix{1, 256}});
  EXPECT_EQ(scheduler_->load().prefill_tokens, 244 + 300 + 44);
  EXPECT_TRUE(Step().contains(2));
}

}  // namespace
}  // namespace inferd::scheduler
