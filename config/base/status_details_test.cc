#include "config/base/status_details.h"

#include <gtest/gtest.h>

#include "config/base/status.h"

namespace inferd {
namespace {

TEST(StatusDetails, AreNotThereUnlessTheyAreSet) {
  for (const absl::Status& status : {absl::OkStatus(), absl::InvalidArgumentError("top_p: 3")}) {
    EXPECT_EQ(RetryAfterSeconds(status), std::nullopt);
    EXPECT_EQ(ErrorCodeOf(status), "");
  }
}

TEST(StatusDetails, ComeBackAsTheyWereSet) {
  absl::Status status = absl::ResourceExhaustedError("the queue is full");
  SetRetryAfter(status, 4.25);
  SetErrorCode(status, "deadline_too_short");
  EXPECT_EQ(RetryAfterSeconds(status), 4.25);
  EXPECT_EQ(ErrorCodeOf(status), "deadline_too_short");
  EXPECT_EQ(MessageOf(status), "the queue is full");
}

TEST(StatusDetails, GoAlongToAnotherStatus) {
  absl::Status status = absl::ResourceExhaustedError("the queue is full");
  SetRetryAfter(status, 7);
  const absl::Status other = WithDetailsOf(status, absl::UnavailableError("later"));
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RetryAfterSeconds(other), 7);
  EXPECT_EQ(RetryAfterSeconds(Annotate(status, "chat")), 7);
}

}  // namespace
}  // namespace inferd
