#include "engine/scheduler/admission.h"

#include <gtest/gtest.h>

#include "engine/scheduler/expected_wait.h"
#include "engine/scheduler/testing_load.h"

namespace inferd::scheduler {
namespace {

using std::chrono::seconds;

// One running sequence and a prompt of so many tokens, which is counted.
Load Prompt(int64_t tokens) {
  Load load{.running_sequences = 1, .prefill_tokens = tokens, .free_blocks = 1000};
  load.classes[1].running_sequences = 1;
  load.classes[1].prompts.Add(tokens);
  return load;
}

// Requests of 10 tokens that are taken one after the other until one is refused; at most 1000.
int64_t TakeUntilRefused(const QueueLimits& limits, Load load, const Arrival& arrival) {
  int64_t taken = 0;
  for (; taken < 1000 && !CheckAdmission(limits, load, arrival, Rates{}); ++taken) load.Add(arrival, limits);
  return taken;
}

TEST(Admission, AnIdleEngineTakesAnyRequest) {
  EXPECT_FALSE(CheckAdmission({.max_wait_seconds = 1}, {}, {.tokens = 100000}, Measured()));
}

TEST(Admission, RefusesNobodyForAGuess) {
  const Arrival arrival{.tokens = 1000, .now = MonotonicTime() + seconds(1), .deadline = MonotonicTime() + seconds(3)};
  const QueueLimits limits{.max_wait_seconds = 2};
  Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.08, .step_seconds = 0.02});
  EXPECT_GT(ExpectedWaitSeconds(limits, Prompt(1000), arrival, rates), 10);
  EXPECT_FALSE(CheckAdmission(limits, Prompt(1000), arrival, rates));
  EXPECT_FALSE(CheckWaiting(limits, arrival, arrival.now, rates));
  rates.StepDone({.prefill_tokens = 100}, 1);
  EXPECT_FALSE(CheckAdmission(limits, Prompt(1000), arrival, rates)) << "how long answers are is not known";
  EXPECT_TRUE(CheckWaiting(limits, arrival, arrival.now, rates)) << "its own prompt is";
  Arrival embeds = arrival;
  embeds.embeds = true;
  EXPECT_TRUE(CheckAdmission(limits, Prompt(1000), embeds, rates));
  rates.SequenceDone(10);
  EXPECT_TRUE(CheckAdmission(limits, Prompt(1000), arrival, rates));
}

TEST(Admission, RefusesAFullQueue) {
  const Load load{.waiting_requests = 256, .waiting_choices = 256, .running_sequences = 32, .waiting_sequences = 256};
  const auto rejection = CheckAdmission({.max_requests = 256, .max_wait_seconds = 0}, load, {.tokens = 1}, Measured());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectionReason::kQueueFull);
  EXPECT_GT(rejection->expected_wait_seconds, 0);
}

TEST(Admission, AQueueFullOfAWorsePriorityHasRoomForABetterOne) {
  const QueueLimits limits{.max_requests = 3, .max_tokens = 600, .max_sequences = 2};
  Load load = Running(2, 60);
  for (int i = 0; i < 3; ++i) load.Add({.tokens = 200, .blocks = 5, .first_blocks = 5}, limits);
  EXPECT_EQ(load.waiting_requests, 3);
  EXPECT_TRUE(CheckAdmission(limits, load, {.tokens = 10, .blocks = 2}, Measured()));
  EXPECT_TRUE(CheckAdmission(limits, load, {.tokens = 10, .blocks = 2, .priority = Priority::kLow}, Measured()));
  EXPECT_FALSE(CheckAdmission(limits, load, {.tokens = 10, .blocks = 2, .priority = Priority::kHigh}, Measured()));
  EXPECT_EQ(TakeUntilRefused(limits, load, {.tokens = 10, .blocks = 2, .priority = Priority::kHigh}), 3);
}

TEST(Admission, TakesWhatHasAPlaceAndSoManyMore) {
  const Load empty{.free_blocks = 1000};
  const Arrival arrival{.tokens = 10, .blocks = 2};
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, empty, arrival), 4 + 5);
  EXPECT_EQ(TakeUntilRefused({.max_requests = 0, .max_sequences = 4}, empty, arrival), 4);
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, Running(3, 10), arrival), 1 + 5);
  EXPECT_EQ(
      TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, empty, {.tokens = 10, .sequences = 3, .blocks = 6}),
      1 + 1)
      << "each choice is one of those that wait";
  EXPECT_EQ(
      TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, empty, {.tokens = 10, .sequences = 7, .blocks = 14}),
      1 + 1)
      << "what is larger than the queue waits alone";
  EXPECT_EQ(
      TakeUntilRefused({.max_requests = 0, .max_sequences = 4}, empty, {.tokens = 10, .sequences = 9, .blocks = 18}), 1)
      << "more choices than places are no reason to refuse an idle engine's only request";
}

TEST(Admission, WithoutPagesARequestWaitsThoughThereAreFreePlaces) {
  const Load empty{.free_blocks = 10};
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 8}, empty, {.tokens = 100, .blocks = 4}), 2 + 5);
  Load blocked = Running(2, 10);
  blocked.waiting_requests = blocked.waiting_choices = blocked.waiting_sequences = 1;
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 8}, blocked, {.tokens = 10, .blocks = 2}), 4)
      << "nobody passes the one that waits for pages";
}

TEST(Admission, TextsToEmbedShareTheQueue) {
  const QueueLimits limits{.max_requests = 3, .max_sequences = 2};
  const Arrival texts{.tokens = 10, .sequences = 0, .embeds = true};
  EXPECT_EQ(TakeUntilRefused(limits, {}, texts), 1 + 3);
  Load load{.free_blocks = 1000};
  for (int i = 0; i < 3; ++i) load.Add(texts, limits);
  EXPECT_EQ(load.waiting_requests, 2);
  EXPECT_EQ(TakeUntilRefused(limits, load, {.tokens = 10, .blocks = 2}), 2 + 1);
}

TEST(Admission, BoundsThePromptTokensThatWait) {
  const QueueLimits limits{.max_tokens = 1000, .max_wait_seconds = 0};
  EXPECT_FALSE(CheckAdmission(limits, {.prefill_tokens = 900}, {.tokens = 100}, Measured()));
  EXPECT_TRUE(CheckAdmission(limits, {.prefill_tokens = 900}, {.tokens = 101}, Measured()));
  EXPECT_FALSE(CheckAdmission(limits, {}, {.tokens = 2000}, Measured())) << "alone, a long prompt does not wait";
}

TEST(Admission, RefusesALongerWaitThanAllowedAndTellsIt) {
  const auto rejection = CheckAdmission({.max_wait_seconds = 30}, Prompt(20000), {.tokens = 20000}, Measured());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectionReason::kWaitTooLong);
  EXPECT_DOUBLE_EQ(rejection->expected_wait_seconds, 40);
  EXPECT_EQ(rejection->message, "expected wait 40.0 s exceeds the limit of 30 s");
}

TEST(Admission, RefusesWhatCannotStartBeforeItsDeadline) {
  const MonotonicTime now{seconds(100)};
  const Load load = Prompt(500);
  const auto late = CheckAdmission({}, load, {.tokens = 5000, .now = now, .deadline = now + seconds(5)}, Measured());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->reason, RejectionReason::kDeadline);
  EXPECT_FALSE(CheckAdmission({}, load, {.tokens = 5000, .now = now, .deadline = now + seconds(7)}, Measured()));
  EXPECT_EQ(
      CheckAdmission({}, {}, {.tokens = 100, .now = now, .deadline = now + Milliseconds(50)}, Measured())->message,
      "expected wait 0.100 s exceeds the 0.050 s left to the deadline");
}

TEST(Admission, WithoutMeasurementsNothingIsExpectedToWait) {
  EXPECT_FALSE(CheckAdmission({}, {.running_sequences = 32, .prefill_tokens = 1 << 20}, {.tokens = 1}, Rates{}));
}

TEST(Admission, AResumedRequestIsNotRefusedForItsWait) {
  const Load load = Prompt(1 << 20);
  EXPECT_TRUE(CheckAdmission({}, load, {.tokens = 1 << 20}, Measured()));
  EXPECT_FALSE(CheckAdmission({}, load, {.tokens = 1 << 20, .resumed = true}, Measured()));
}

TEST(Admission, AResumedRequestIsNotRefusedForAFullQueue) {
  Load load = Running(32, 10);
  load.waiting_requests = load.waiting_choices = load.waiting_sequences = 256;
  load.prefill_tokens = 10000;
  const QueueLimits limits{.max_requests = 256, .max_tokens = 4000};
  EXPECT_TRUE(CheckAdmission(limits, load, {.tokens = 1000}, Measured()));
  EXPECT_FALSE(CheckAdmission(limits, load, {.tokens = 1000, .resumed = true}, Measured()));
}

TEST(Admission, AWaitingRequestIsRefusedOnceItsWaitHasPassedTheLimit) {
  const QueueLimits limits{.max_wait_seconds = 2};
  const Arrival arrival{.tokens = 10, .now = MonotonicTime(seconds(100))};
  EXPECT_FALSE(CheckWaiting(limits, arrival, MonotonicTime(seconds(102)), Measured()));
  const auto late = CheckWaiting(limits, arrival, MonotonicTime(seconds(103)), Measured());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->reason, RejectionReason::kWaitTooLong);
  EXPECT_EQ(late->message, "the request has waited 3.0 s, the limit is 2 s");
  EXPECT_FALSE(CheckWaiting({.max_wait_seconds = 0}, arrival, MonotonicTime(seconds(1000)), Measured()));
  Arrival resumed = arrival;
  resumed.resumed = true;
  EXPECT_FALSE(CheckWaiting(limits, resumed, MonotonicTime(seconds(103)), Measured()));
}

TEST(Admission, AWaitingRequestIsRefusedOnceItsPromptIsTooLongForItsDeadline) {
  const Arrival arrival{
      .tokens = 5000, .now = MonotonicTime(seconds(100)), .deadline = MonotonicTime(seconds(110))};  // takes 5 s
  EXPECT_FALSE(CheckWaiting({}, arrival, MonotonicTime(seconds(104)), Measured()));
  const auto late = CheckWaiting({}, arrival, MonotonicTime(seconds(106)), Measured());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->reason, RejectionReason::kDeadline);
  EXPECT_EQ(late->message, "the prompt takes 5.0 s, 4.0 s are left to the deadline");
  EXPECT_FALSE(CheckWaiting({}, arrival, MonotonicTime(seconds(111)), Measured())) << "it has expired";
}

}  // namespace
}  // namespace inferd::scheduler
