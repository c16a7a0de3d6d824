#include "engine/scheduler/expected_wait.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/scheduler/fake_kv_memory.h"
#include "engine/scheduler/scheduler.h"
#include "engine/scheduler/testing_load.h"

namespace inferd::scheduler {
namespace {

TEST(ExpectedWait, TheExpectedWaitCountsThePromptsAhead) {
  Load load;
  load.classes[1].prompts.Add(900);
  load.classes[1].prompts.Add(800);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 1000}, Measured()), 2.7);
}

TEST(ExpectedWait, TheExpectedWaitEndsWithTheSequencesThatGiveTheirPlaces) {
  const QueueLimits limits{.max_sequences = 4};
  Load load{.running_sequences = 4, .waiting_sequences = 1, .free_blocks = 100};
  load.endings = {{10, 2}, {20, 2}, {30, 2}, {40, 2}};
  load.classes[1] = {.waiting_sequences = 1, .running_sequences = 4};
  // One waits already: the second end is in 20 steps of 20 ms. Its own prompt takes 10 ms.
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 10}, Measured()), 0.41, 1e-6);
  const Arrival many{.tokens = 10, .sequences = 128};
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, many, Measured()), 0.41, 1e-6) << "until the first of its choices";
  EXPECT_NEAR(ExpectedWaitSeconds(limits, {}, many, Measured()), 0.01, 1e-6);
  // The sixth end is that of the second place's next sequence, 50 tokens later.
  load.waiting_sequences = load.classes[1].waiting_sequences = 5;
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 10}, Measured()), 0.02 * (20 + 50) + 0.01, 1e-4);
}

TEST(ExpectedWait, BesideStreamsAPromptTakesLonger) {
  // Of each step of 30 ms, the streams take 20 and 10 tokens of a prompt the rest.
  EXPECT_NEAR(ExpectedWaitSeconds({}, Running(8, 10), {.tokens = 1500}, Measured()), 4.5, 1e-6);
}

TEST(ExpectedWait, PromptsThatWaitForAPlaceOrForPagesDoNotSpeedUpEachOther) {
  Load load = Running(8, 10);
  load.waiting_sequences = load.classes[1].waiting_sequences = 20;
  for (const int64_t places : {8, 40}) {
    const double one = ExpectedWaitSeconds({.max_sequences = places}, load, {.tokens = 1}, Measured());
    const double many = ExpectedWaitSeconds({.max_sequences = places}, load, {.tokens = 1501}, Measured());
    EXPECT_NEAR(many - one, 4.5, 1e-6) << places;
  }
}

TEST(ExpectedWait, TheExpectedWaitIsNeverZeroOnceAFirstPassIsMeasured) {
  const Rates start = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.08, .step_seconds = 0.05});
  EXPECT_NEAR(ExpectedWaitSeconds({}, {}, {.tokens = 100}, start), 1, 1e-6);
  Load load = Running(1, 128);
  EXPECT_GE(ExpectedWaitSeconds({.max_sequences = 1}, load, {.tokens = 1}, start), 128 * 0.05);
}

TEST(ExpectedWait, AShortPromptPassesALongOne) {
  Load load;
  load.classes[1].prompts.Add(6000);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 20}, Measured()), 0.04) << "they take turns";
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 8000}, Measured()), 14);
}

TEST(ExpectedWait, CountsWhatRanksBefore) {
  Load load;
  load.classes[3].prompts.Add(40000);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 1000, .priority = Priority::kHigh}, Measured()), 1);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 50000, .priority = Priority::kBatch}, Measured()), 90);
  load.classes[0].prompts.Add(7000);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 1000}, Measured()), 8);
}

TEST(ExpectedWait, ABetterPriorityTakesThePlaceOfAWorseOne) {
  Load load = Running(8, 1000);
  const QueueLimits limits{.max_sequences = 8};
  const Arrival arrival{.tokens = 1, .first_blocks = 2, .priority = Priority::kHigh};
  EXPECT_LT(ExpectedWaitSeconds(limits, load, arrival, Measured()), 0.1);
  std::swap(load.classes[0], load.classes[1]);
  EXPECT_GT(ExpectedWaitSeconds(limits, load, arrival, Measured()), 20);
}

TEST(ExpectedWait, EndsWhenTheSequencesBeforeHaveGivenTheirPages) {
  Load load = Running(5, 1000);
  load.endings = {{100, 10}, {200, 10}, {300, 10}, {400, 10}, {500, 10}};
  load.free_blocks = 1;
  const QueueLimits limits{.max_sequences = 32};
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 0, .first_blocks = 8}, Measured()), 100 * 0.02, 1e-9);
  load.classes[1].waiting_blocks = 16;
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 0, .first_blocks = 8}, Measured()), 300 * 0.02, 1e-9);
  load.classes[1].waiting_blocks = 50;
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 0, .first_blocks = 8}, Measured()), (100 + 50) * 0.02, 1e-3)
      << "all have ended once, then the first of the next";
  load.classes[1].waiting_blocks = 0;
  EXPECT_LT(ExpectedWaitSeconds(limits, load, {.tokens = 0, .first_blocks = 1}, Measured()), 1e-9);
}

TEST(ExpectedWait, WhatCameDuringTheStepEndsWithTheOthers) {
  const QueueLimits limits{.max_sequences = 32};
  Load load{.free_blocks = 1000};
  const Arrival arrival{.tokens = 1, .blocks = 2, .first_blocks = 2};
  for (int i = 0; i < 63; ++i) load.Add(arrival, limits);
  EXPECT_EQ(load.running_sequences, 32);
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, arrival, Measured()), 50 * 0.02, 0.2) << "after one round of 50 tokens";
  Load many{.free_blocks = 1000};
  many.Add({.tokens = 1, .sequences = 128, .blocks = 256, .first_blocks = 2}, limits);
  EXPECT_EQ(many.running_sequences, 32);
  EXPECT_EQ(many.waiting_sequences, 96);
  EXPECT_NEAR(ExpectedWaitSeconds(limits, many, arrival, Measured()), 4 * 50 * 0.02, 0.2);
}

TEST(ExpectedWait, EmbeddingTakesTurnsWithGeneration) {
  Load load{.embedding_requests = 1, .embedding_tokens = 100000};
  load.embeddings[1].Add(100000);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 500}, Measured()), 1);
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 500, .embeds = true}, Measured()), 1) << "and among itself";
  load.prefill_tokens = 200;
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, load, {.tokens = 500, .embeds = true}, Measured()), 1.2);
}

// A scheduler on a machine of 1 ms a token and 10 ms a step, with requests that come together.
double MeasuredWait(const std::vector<SequenceSpec>& before, const SequenceSpec& asked, double& expected) {
  FakeClock clock;
  FakeKvMemory memory(1000);
  Scheduler scheduler({.max_sequences = 8, .prefill_tokens = 256}, memory);
  const auto step = [&] {
    const StepPlan plan = scheduler.Plan(clock.Now());
    const double seconds = 0.01 + 0.001 * static_cast<double>(plan.shape.decode_sequences + plan.shape.prefill_tokens);
    clock.Advance(std::chrono::duration_cast<Milliseconds>(std::chrono::duration<double>(seconds)));
    scheduler.rates().StepDone(plan.shape, seconds);
    scheduler.Computed(plan.work);
    for (const Work& work : plan.work) {
      if (work.completes) scheduler.Append(work.id);
    }
  };
  for (SequenceSpec spec : before) {
    spec.arrival = clock.Now();
    scheduler.Add(spec);
  }
  for (int i = 0; i < 10; ++i) step();
  SequenceSpec spec = asked;
  spec.arrival = clock.Now();
  const int64_t blocks = memory.BlocksFor(spec.tokens) + 1;
  expected = ExpectedWaitSeconds(
      {.max_sequences = 8}, scheduler.load(),
      {.tokens = spec.tokens, .blocks = blocks, .first_blocks = blocks, .priority = spec.priority}, scheduler.rates());
  scheduler.Add(spec);
  while (scheduler.Find(spec.id)->state != SequenceState::kDecode) step();
  return std::chrono::duration<double>(clock.Now() - spec.arrival).count();
}

TEST(ExpectedWait, IsWhatTheSchedulerDoes) {
  const SequenceSpec stream{.tokens = 10}, longer{.tokens = 9000}, medium{.tokens = 3000};
  const struct {
    const char* name;
    std::vector<SequenceSpec> before;
    SequenceSpec asked;
  } kCases[] = {
      {"a short prompt beside a long one", {longer}, {.tokens = 20}},
      {"a long one beside a long one", {longer}, {.tokens = 6000}},
      {"the longest of three", {medium, medium}, {.tokens = 9000}},
      {"a short prompt beside a long one and streams", {stream, stream, stream, stream, longer}, {.tokens = 20}},
      {"a long one beside streams", {stream, stream, stream, stream}, {.tokens = 2000}},
      {"a better priority", {longer, longer}, {.tokens = 3000, .priority = Priority::kHigh}},
  };
  for (const auto& test : kCases) {
    std::vector<SequenceSpec> before = test.before;
    for (size_t i = 0; i < before.size(); ++i) before[i].id = i + 1;
    SequenceSpec asked = test.asked;
    asked.id = 100;
    double expected = 0;
    const double measured = MeasuredWait(before, asked, expected);
    EXPECT_LT(expected, measured * 1.6 + 0.1) << test.name;
    EXPECT_GT(expected, measured * 0.6 - 0.1) << test.name;
  }
}

}  // namespace
}  // namespace inferd::scheduler
