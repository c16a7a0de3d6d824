#include "engine/scheduler/admission.h"

#include <gtest/gtest.h>

namespace inferd::scheduler {
namespace {

using std::chrono::seconds;

// 1 ms a prompt token, 20 ms a decode step, 4 s a request.
Rates Measured() {
  Rates rates;
  rates.StepDone({.decode_sequences = 8}, 0.02);
  rates.StepDone({.decode_sequences = 0, .prefill_tokens = 100}, 0.1);
  rates.RequestDone(4);
  return rates;
}

TEST(Admission, AnIdleEngineTakesAnyRequest) {
  EXPECT_FALSE(CheckAdmission({.max_wait_seconds = 1}, {}, {.tokens = 100000}, Measured()));
}

TEST(Admission, RefusesAFullQueue) {
  const Load load{.waiting_requests = 256, .waiting_sequences = 256};
  const auto rejection = CheckAdmission({.max_requests = 256, .max_wait_seconds = 0}, load, {.tokens = 1}, Measured());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, RejectionReason::kQueueFull);
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

TEST(Admission, TheExpectedWaitCountsThePlacesTaken) {
  // 32 places, 32 running, 7 waiting: the eighth gets a place when 8 have ended, 4 s / 32 apart.
  const Load load{.waiting_requests = 7, .running_sequences = 32, .waiting_sequences = 7};
  EXPECT_DOUBLE_EQ(ExpectedWaitSeconds({.max_sequences = 32}, load, {.tokens = 10}, Measured()), 1);
}

TEST(Admission, RefusesALongerWaitThanAllowedAndTellsIt) {
  const Load load{.running_sequences = 1, .prefill_tokens = 40000};
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
}

TEST(Admission, WithoutMeasurementsNothingIsExpectedToWait) {
  EXPECT_FALSE(CheckAdmission({}, {.running_sequences = 32, .prefill_tokens = 1 << 20}, {.tokens = 1}, Rates{}));
}

}  // namespace
}  // namespace inferd::scheduler
