#include "engine/generation/refusal.h"

#include <gtest/gtest.h>

#include "config/base/status.h"
#include "config/base/status_details.h"

namespace inferd::engine {
namespace {

TEST(Refusal, TellsWhenToTryAgain) {
  const absl::Status status = RefusalStatus(
      {.reason = scheduler::RejectionReason::kQueueFull, .expected_wait_seconds = 4.25, .message = "queue is full"});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(MessageOf(status), "queue is full");
  EXPECT_EQ(RetryAfterSeconds(status), 4.25);
}

TEST(Refusal, TellsADeadlineThatCannotBeMetFromAFullQueue) {
  const auto is_deadline = [](scheduler::RejectionReason reason) {
    return IsDeadlineTooShort(RefusalStatus({.reason = reason, .expected_wait_seconds = 1, .message = "no"}));
  };
  EXPECT_TRUE(is_deadline(scheduler::RejectionReason::kDeadline));
  EXPECT_FALSE(is_deadline(scheduler::RejectionReason::kQueueFull));
  EXPECT_FALSE(is_deadline(scheduler::RejectionReason::kWaitTooLong));
  EXPECT_FALSE(IsDeadlineTooShort(absl::DeadlineExceededError("passed")));
}

// Of all that ends a request, only what time mends may say "later".
TEST(Refusal, OnlyARefusalAsksToTryAgain) {
  const absl::Status refusal = RefusalStatus(
      {.reason = scheduler::RejectionReason::kQueueFull, .expected_wait_seconds = 1, .message = "queue is full"});
  EXPECT_EQ(ToPermanent(refusal), refusal);
  EXPECT_EQ(ToPermanent(ResourceExhausted("constraint: too ambiguous")), InvalidArgument("constraint: too ambiguous"));
  for (const absl::Status& other : {absl::OkStatus(), Unavailable("draining"), OutOfRange("too long")}) {
    EXPECT_EQ(ToPermanent(other), other);
  }
}

TEST(Refusal, OtherErrorsDoNotTell) {
  EXPECT_EQ(RetryAfterSeconds(absl::ResourceExhaustedError("the sequence outgrew the KV cache")), std::nullopt);
  EXPECT_EQ(RetryAfterSeconds(absl::OkStatus()), std::nullopt);
}

}  // namespace
}  // namespace inferd::engine
