#include "engine/scheduler/testing_scheduler.h"

namespace inferd::scheduler {
namespace {

using std::chrono::seconds;

TEST_F(SchedulerTest, APromptIsComputedInChunksAndThenDecodes) {
  Create(100);
  Add(1, 300);
  EXPECT_EQ(Step(), (Counts{{1, 256}}));
  EXPECT_EQ(State(1), SequenceState::kPrefill);
  EXPECT_EQ(Step(), (Counts{{1, 44}}));
  EXPECT_EQ(State(1), SequenceState::kDecode);
  EXPECT_EQ(Step(), (Counts{{1, 1}}));
  EXPECT_EQ(scheduler_->Find(1)->computed, 301);
  scheduler_->Finish(1);
  EXPECT_TRUE(scheduler_->idle());
  EXPECT_EQ(memory_->used(), 0);
}

TEST_F(SchedulerTest, EveryStepTakesAllDecodesBesideALongPrompt) {
  Create(1000);
  for (SequenceId id = 1; id <= 8; ++id) Add(id, 10);
  Step();
  Add(9, 4000);
  for (int i = 0; i < 10; ++i) {
    const Counts counts = Step();
    for (SequenceId id = 1; id <= 8; ++id) ASSERT_EQ(counts.at(id), 1);
    ASSERT_EQ(counts.at(9), 256);
  }
}

TEST_F(SchedulerTest, PromptWorkBesideStreamsTakesLessTimeThanTheStreams) {
  Create(1000);
  for (SequenceId id = 1; id <= 8; ++id) Add(id, 10);
  Step();
  scheduler_->rates().StepDone({.decode_sequences = 8}, 0.04);
  scheduler_->rates().StepDone({.prefill_tokens = 100}, 0.1);
  Add(9, 4000);
  EXPECT_EQ(Step().at(9), 20);
}

TEST_F(SchedulerTest, TheLoadTellsWhatTheRunningSequencesHaveLeft) {
  Create(100, {.max_sequences = 3});
  for (int i = 0; i < 200; ++i) scheduler_->rates().SequenceDone(40);
  scheduler_->Add({.id = 1, .tokens = 10, .most_tokens = 22, .arrival = clock_.Now()});
  Add(2, 70);
  for (int i = 0; i < 11; ++i) Step();
  Add(3, 1000);
  Step();
  Add(4, 5);
  Step();
  const Load load = scheduler_->load();
  std::vector<int64_t> tokens_left;
  for (const Load::Ending& ending : load.endings) tokens_left.push_back(ending.tokens_left);
  EXPECT_EQ(tokens_left, (std::vector<int64_t>{0, 27, 40}))
      << "the first may end at 22 tokens, the others are expected to generate 40";
  EXPECT_EQ(load.running_sequences, 3);
  EXPECT_EQ(load.decoding_sequences, 2);
  EXPECT_EQ(load.waiting_sequences, 1);
  EXPECT_EQ(load.prefill_tokens, 1000 - 2 * 256 + 5);
  // 16 blocks for the third's prompt, of which half are reserved, one and two for the others, and one more for each.
  EXPECT_EQ(load.free_blocks, 100 - 16 - 1 - 2 - 3);
}

TEST_F(SchedulerTest, PagesThatSequencesShareComeFreeOnce) {
  Create(100, {.max_sequences = 4});
  for (SequenceId id : {1, 2, 3}) {
    memory_->cached[id] = 640;
    Add(id, 650);
  }
  memory_->cached[4] = 64;
  scheduler_->Add({.id = 4, .tokens = 100, .priority = Priority::kHigh, .arrival = clock_.Now()});
  Step();
  const auto blocks = [this] {
    std::vector<int64_t> freed;
    for (const Load::Ending& ending : scheduler_->load().endings) freed.push_back(ending.blocks);
    return freed;
  };
  EXPECT_EQ(blocks(), (std::vector<int64_t>{12, 12, 12, 3})) << "with one more to grow for each";
  memory_->shared = {1, 2, 3};
  memory_->shared_blocks = 10;
  EXPECT_EQ(blocks(), (std::vector<int64_t>{2, 2, 12, 3}));
  const Load load = scheduler_->load();
  EXPECT_EQ(load.classes[0].running_blocks, 3);
  EXPECT_EQ(load.classes[1].running_blocks, 16);
}

TEST_F(SchedulerTest, NobodyGivesWayWherePagesAreSharedAndDoNotMakeRoom) {
  struct Case {
    std::set<SequenceId> shared;
    int64_t tokens;
    uint64_t preemptions;
  };
  const Case cases[] = {
      {{}, 64 * 30, 3},        {{1, 2}, 64 * 30, 0},  // 24 blocks
      {{1, 2}, 64 * 20, 2},                           // the third, and one of the two that share
      {{1, 2, 4}, 64 * 20, 0},                        // one that stays has them, too: 14 blocks
      {{1, 2, 4}, 64 * 12, 1},                        // the third's
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.shared.size() << " share, " << c.tokens << " tokens");
    Create(48);
    for (SequenceId id : {1, 2, 3, 4}) {
      memory_->cached[id] = 640;
      Add(id, 650, id == 4 ? Priority::kHigh : Priority::kNormal);
    }
    Step();
    memory_->shared = c.shared;
    memory_->shared_blocks = 10;
    scheduler_->Add({.id = 5, .tokens = c.tokens, .priority = Priority::kHigh, .arrival = clock_.Now()});
    Step();
    EXPECT_EQ(scheduler_->preemptions(), c.preemptions);
  }
}

TEST_F(SchedulerTest, ACachedPrefixIsNotComputedAgain) {
  Create(100);
  memory_->cached[1] = 128;
  Add(1, 200);
  EXPECT_EQ(Step(), (Counts{{1, 72}}));
  EXPECT_EQ(scheduler_->Find(1)->cached, 128);
}

TEST_F(SchedulerTest, UnderPressureTheYoungestOfTheLowestPriorityGivesWay) {
  Create(4, {.max_sequences = 8});
  Add(1, 63, Priority::kLow);
  Add(2, 63, Priority::kNormal);
  Step();
  clock_.Advance(std::chrono::milliseconds(1));
  Add(3, 63, Priority::kLow);  // would leave the others no room to grow
  Step();
  EXPECT_EQ(State(3), SequenceState::kWaiting);
  for (int i = 0; i < 66; ++i) Step();  // both grow past 128 tokens: 6 blocks for a pool of 4
  EXPECT_EQ(State(2), SequenceState::kDecode);
  EXPECT_EQ(State(1), SequenceState::kPreempted);
  EXPECT_EQ(scheduler_->preemptions(), 1u);
  scheduler_->Finish(2);
  Step();
  EXPECT_EQ(State(1), SequenceState::kDecode) << "the older goes first";
  EXPECT_EQ(State(3), SequenceState::kWaiting);
}

TEST_F(SchedulerTest, APreemptedSequenceComputesAllItsTokensAgain) {
  Create(4);
  Add(1, 64);
  Step();
  clock_.Advance(std::chrono::milliseconds(1));
  Add(2, 30);
  for (int i = 0; i < 70; ++i) Step();
  ASSERT_EQ(State(2), SequenceState::kPreempted);
  const int64_t known = scheduler_->Find(2)->tokens;
  scheduler_->Finish(1);
  EXPECT_EQ(Step(), (Counts{{2, known}}));
}

TEST_F(SchedulerTest, ABetterPriorityTakesThePlaceOfARunningOne) {
  Create(100, {.max_sequences = 1});
  Add(1, 10, Priority::kLow);
  Step();
  Add(2, 10, Priority::kNormal);
  EXPECT_EQ(Step(), (Counts{{2, 10}}));
  EXPECT_EQ(plan_.preempted, (std::vector<SequenceId>{1}));
  Add(3, 10, Priority::kNormal);
  EXPECT_EQ(Step(), (Counts{{2, 1}})) << "an equal priority does not";
}

TEST_F(SchedulerTest, WaitingMakesAPriorityBetter) {
  Create(100, {.max_sequences = 1, .ageing_seconds = 10});
  Add(1, 10, Priority::kBatch);
  clock_.Advance(seconds(31));
  Add(2, 10, Priority::kHigh);
  EXPECT_EQ(Step(), (Counts{{1, 10}}));
}

TEST_F(SchedulerTest, ADeadlineEndsASequenceInAnyState) {
  Create(100, {.max_sequences = 1});
  scheduler_->Add({.id = 1, .tokens = 5, .arrival = clock_.Now(), .deadline = clock_.Now() + seconds(1)});
  scheduler_->Add({.id = 2, .tokens = 5, .arrival = clock_.Now(), .deadline = clock_.Now() + seconds(1)});
  Step();
  clock_.Advance(seconds(1));
  Step();
  EXPECT_EQ(plan_.expired, (std::vector<SequenceId>{1, 2}));
  EXPECT_TRUE(plan_.work.empty());
  EXPECT_EQ(memory_->used(), 0);
}

TEST_F(SchedulerTest, CancellingFreesThePagesAtOnce) {
  Create(100);
  Add(1, 600);
  Step();
  EXPECT_GT(memory_->used(), 0);
  scheduler_->Cancel(1);
  EXPECT_EQ(memory_->used(), 0);
  scheduler_->Cancel(1);
  EXPECT_TRUE(Step().empty());
}

TEST_F(SchedulerTest, ASequenceThatNeverFitsEndsInsteadOfWaiting) {
  Create(2);
  Add(1, 1000);
  Step();
  EXPECT_EQ(plan_.oversized, (std::vector<SequenceId>{1}));
  EXPECT_TRUE(scheduler_->idle());
  EXPECT_EQ(memory_->used(), 0);
}

TEST_F(SchedulerTest, TheLastSequenceTakesTheRoomOfOthersBeforeItEnds) {
  Create(4);
  memory_->others = 2;
  Add(1, 180);
  EXPECT_EQ(Step(), (Counts{{1, 180}})) << "a prompt";
  memory_->others = 1;
  for (int i = 0; i < 76; ++i) EXPECT_EQ(Step(), (Counts{{1, 1}})) << "a stream";
  EXPECT_EQ(memory_->others, 0);
  Step();
  EXPECT_EQ(plan_.oversized, (std::vector<SequenceId>{1})) << "nobody else holds anything";
}

TEST_F(SchedulerTest, AFirstSequenceTakesTheRoomOfOthersToBegin) {
  Create(4);
  memory_->others = 3;
  memory_->cached[1] = 128;
  Add(1, 180);
  EXPECT_EQ(Step(), (Counts{{1, 52}}));
}

TEST_F(SchedulerTest, OthersGiveTheirRoomBeforeAStreamWhosePriorityIsNoWorse) {
  for (const Priority priority : {Priority::kHigh, Priority::kNormal, Priority::kBatch}) {
    Create(4);
    memory_->others = 1;
    memory_->others_priority = static_cast<int>(priority);
    Add(1, 60);
    Add(2, 60);
    for (int i = 0; i < 10; ++i) Step();
    const bool rank_first = priority == Priority::kHigh;
    EXPECT_EQ(memory_->others, rank_first ? 1 : 0);
    EXPECT_EQ(State(2), rank_first ? SequenceState::kPreempted : SequenceState::kDecode);
    EXPECT_EQ(scheduler_->preemptions(), rank_first ? 1u : 0u);
  }
}

TEST_F(SchedulerTest, AWaitingPromptTakesTheRoomOfOthersOnlyWhereItsPriorityIsBetter) {
  Create(6);
  Add(1, 60);
  Step();
  memory_->others = 3;
  Add(2, 100);
  Step();
  EXPECT_EQ(State(2), SequenceState::kWaiting) << "it waits for others of its own priority";
  Add(3, 100, Priority::kHigh);
  EXPECT_TRUE(Step().contains(3));
  EXPECT_EQ(memory_->others, 0);
  EXPECT_EQ(scheduler_->preemptions(), 0u);
}

TEST_F(SchedulerTest, TheLoadDoesNotCountWhatTheCacheKnowsOfWaitingPrompts) {
  Create(100, {.max_sequences = 1});
  Add(1, 10);
  Step();
  scheduler_->Add({.id = 2, .tokens = 8000, .known_tokens = 7900, .arrival = clock_.Now()});
  EXPECT_EQ(scheduler_->load().prefill_tokens, 100);
}

TEST_F(SchedulerTest, NobodyGivesWayInVain) {
  Create(10);
  scheduler_->Add({.id = 1, .tokens = 450, .priority = Priority::kHigh, .arrival = clock_.Now()});
  scheduler_->Add({.id = 2, .tokens = 20, .priority = Priority::kBatch, .arrival = clock_.Now()});
  Step();
  scheduler_->Add({.id = 3, .tokens = 300, .priority = Priority::kHigh, .arrival = clock_.Now()});
  Step();
  EXPECT_EQ(State(2), SequenceState::kDecode) << "its one page would not do";
  EXPECT_EQ(State(3), SequenceState::kWaiting);
}

TEST_F(SchedulerTest, RowsThatWereHadAreNotAskedForAgain) {
  Create(4, {.max_sequences = 4, .max_result_rows = 20});
  scheduler_->Add({.id = 1, .tokens = 60, .arrival = clock_.Now()});
  scheduler_->Add({.id = 2, .tokens = 60, .arrival = clock_.Now(), .all_rows = true});
  int steps = 0;
  while (State(2) != SequenceState::kPreempted && ++steps < 200) Step();
  EXPECT_FALSE(scheduler_->Find(2)->spec.all_rows);
}

TEST_F(SchedulerTest, PromptsThatWantAllRowsShareTheRowsThatAreSpare) {
  Create(100, {.max_sequences = 4, .max_result_rows = 20});
  scheduler_->Add({.id = 1, .tokens = 100, .arrival = clock_.Now(), .all_rows = true});
  scheduler_->Add({.id = 2, .tokens = 100, .arrival = clock_.Now(), .all_rows = true});
  int64_t rows = 0;
  for (const auto& [id, count] : Step()) rows += count;
  EXPECT_EQ(rows, 16);
}

}  // namespace
}  // namespace inferd::scheduler
