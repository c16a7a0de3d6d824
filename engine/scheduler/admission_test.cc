#include "engine/scheduler/admission.h"

#include <gtest/gtest.h>

namespace inferd::scheduler {
namespace {

using std::chrono::seconds;

// 1 ms a prompt token, 20 ms a decode step, 50 tokens a sequence.
Rates Measured() {
  Rates rates;
  rates.StepDone({.decode_sequences = 8}, 0.02);
  rates.StepDone({.decode_sequences = 0, .prefill_tokens = 100}, 0.1);
  for (int i = 0; i < 200; ++i) rates.SequenceDone(50);
  return rates;
}

// So many running sequences, each with as many tokens to generate.
Load Running(int64_t sequences, int64_t tokens_left) {
  Load load{.running_sequences = sequences, .decoding_sequences = sequences, .free_blocks = 1000};
  load.tokens_left.assign(static_cast<size_t>(sequences), tokens_left);
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

TEST(Admission, RefusesAFullQueue) {
  const Load load{.waiting_requests = 256, .running_sequences = 32, .waiting_sequences = 256};
  const auto rejection = CheckAdmission({.max_requests = 256, .max_wait_seconds = 0}, load, {.tokens = 1}, Measured());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectionReason::kQueueFull);
  EXPECT_GT(rejection->expected_wait_seconds, 0);
}

TEST(Admission, TakesWhatHasAPlaceAndSoManyMore) {
  const Load empty{.free_blocks = 1000};
  const Arrival arrival{.tokens = 10, .blocks = 2};
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, empty, arrival), 4 + 5);
  EXPECT_EQ(TakeUntilRefused({.max_requests = 0, .max_sequences = 4}, empty, arrival), 4);
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, Running(3, 10), arrival), 1 + 5);
  EXPECT_EQ(
      TakeUntilRefused({.max_requests = 5, .max_sequences = 4}, empty, {.tokens = 10, .sequences = 3, .blocks = 6}),
      1 + 5);
  EXPECT_EQ(
      TakeUntilRefused({.max_requests = 0, .max_sequences = 4}, empty, {.tokens = 10, .sequences = 9, .blocks = 18}), 1)
      << "more choices than places are no reason to refuse an idle engine's only request";
}

TEST(Admission, WithoutPagesARequestWaitsThoughThereAreFreePlaces) {
  const Load empty{.free_blocks = 10};
  EXPECT_EQ(TakeUntilRefused({.max_requests = 5, .max_sequences = 8}, empty, {.tokens = 100, .blocks = 4}), 2 + 5);
  Load blocked = Running(2, 10);
  blocked.waiting_requests = blocked.waiting_sequences = 1;
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

TEST(Admission, TheExpectedWaitCountsThePromptsAhead) {
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({}, {.prefill_tokens = 9000}, {.tokens = 1000}, Measured()), 10);
}

TEST(Admission, TheExpectedWaitEndsWithTheSequencesThatGiveTheirPlaces) {
  const QueueLimits limits{.max_sequences = 4};
  Load load{.running_sequences = 4, .waiting_sequences = 1, .tokens_left = {10, 20, 30, 40}};
  // One waits already: the second end is in 20 steps of 20 ms. Its own prompt takes 10 ms.
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 10}, Measured()), 0.41, 1e-6);
  const Arrival many{.tokens = 10, .sequences = 128};
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, many, Measured()), 0.41, 1e-6) << "until the first of its choices";
  EXPECT_NEAR(ExpectedWaitSeconds(limits, {}, many, Measured()), 0.01, 1e-6);
  // The sixth end is that of the second place's next sequence, 50 tokens later.
  load.waiting_sequences = 5;
  EXPECT_NEAR(ExpectedWaitSeconds(limits, load, {.tokens = 10}, Measured()), 0.02 * (20 + 50) + 0.01, 1e-4);
}

TEST(Admission, BesideStreamsAPromptTakesLonger) {
  // Of each step of 30 ms, the streams take 20 and 10 tokens of a prompt the rest.
  EXPECT_NEAR(ExpectedWaitSeconds({}, Running(8, 10), {.tokens = 1500}, Measured()), 4.5, 1e-6);
}

TEST(Admission, PromptsThatWaitForAPlaceOrForPagesDoNotSpeedUpEachOther) {
  Load load = Running(8, 10);
  load.waiting_sequences = 20;
  for (const int64_t places : {8, 40}) {
    const double one = ExpectedWaitSeconds({.max_sequences = places}, load, {.tokens = 1}, Measured());
    const double many = ExpectedWaitSeconds({.max_sequences = places}, load, {.tokens = 1501}, Measured());
    EXPECT_NEAR(many - one, 4.5, 1e-6) << places;
  }
}

TEST(Admission, TheExpectedWaitIsNeverZeroOnceAFirstPassIsMeasured) {
  const Rates start = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.08, .step_seconds = 0.05});
  EXPECT_NEAR(ExpectedWaitSeconds({}, {}, {.tokens = 100}, start), 1, 1e-6);
  Load load = Running(1, 128);
  EXPECT_GE(ExpectedWaitSeconds({.max_sequences = 1}, load, {.tokens = 1}, start), 128 * 0.05);
  const auto rejection = CheckAdmission({.max_wait_seconds = 2, .max_sequences = 1}, load, {.tokens = 1}, start);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectionReason::kWaitTooLong);
}

TEST(Admission, RefusesALongerWaitThanAllowedAndTellsIt) {
  const Load load{.running_sequences = 1, .prefill_tokens = 40000, .tokens_left = {10}};
  const auto rejection = CheckAdmission({.max_wait_seconds = 30}, load, {.tokens = 2000}, Measured());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectionReason::kWaitTooLong);
  EXPECT_DOUBLE_EQ(rejection->expected_wait_seconds, 42);
  EXPECT_EQ(rejection->message, "expected wait 42.0 s exceeds the limit of 30 s");
}

TEST(Admission, RefusesWhatCannotStartBeforeItsDeadline) {
  const MonotonicTime now{seconds(100)};
  const Load load{.running_sequences = 1, .prefill_tokens = 5000};
  const auto late = CheckAdmission({}, load, {.tokens = 1000, .now = now, .deadline = now + seconds(5)}, Measured());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->reason, RejectionReason::kDeadline);
  EXPECT_FALSE(CheckAdmission({}, load, {.tokens = 1000, .now = now, .deadline = now + seconds(7)}, Measured()));
  EXPECT_TRUE(CheckAdmission({}, {}, {.tokens = 1, .now = now, .deadline = now}, Rates{})) << "already passed";
  EXPECT_EQ(
      CheckAdmission({}, {}, {.tokens = 100, .now = now, .deadline = now + Milliseconds(50)}, Measured())->message,
      "expected wait 0.100 s exceeds the 0.050 s left to the deadline");
}

TEST(Admission, WithoutMeasurementsNothingIsExpectedToWait) {
  EXPECT_FALSE(CheckAdmission({}, {.running_sequences = 32, .prefill_tokens = 1 << 20}, {.tokens = 1}, Rates{}));
}

TEST(Admission, AResumedRequestIsNotRefusedForItsWait) {
  const Load load{.running_sequences = 32, .prefill_tokens = 1 << 20};
  EXPECT_TRUE(CheckAdmission({}, load, {.tokens = 1}, Measured()));
  EXPECT_FALSE(CheckAdmission({}, load, {.tokens = 1, .resumed = true}, Measured()));
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
}

}  // namespace
}  // namespace inferd::scheduler
