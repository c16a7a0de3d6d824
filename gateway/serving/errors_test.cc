#include "gateway/serving/errors.h"

#include <gtest/gtest.h>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

TEST(Errors, FollowTheTable) {
  struct Row {
    absl::StatusCode status;
    int http;
    const char* code;
  };
  for (const Row& row :
       {Row{absl::StatusCode::kInvalidArgument, 400, ""}, Row{absl::StatusCode::kFailedPrecondition, 400, ""},
        Row{absl::StatusCode::kOutOfRange, 400, "context_length_exceeded"},
        Row{absl::StatusCode::kUnauthenticated, 401, "invalid_api_key"},
        Row{absl::StatusCode::kPermissionDenied, 403, "model_not_allowed"},
        Row{absl::StatusCode::kNotFound, 404, "model_not_found"},
        Row{absl::StatusCode::kResourceExhausted, 429, "queue_full"},
        Row{absl::StatusCode::kUnavailable, 503, "model_unavailable"},
        Row{absl::StatusCode::kDeadlineExceeded, 504, "deadline_exceeded"},
        Row{absl::StatusCode::kInternal, 500, "internal_error"}, Row{absl::StatusCode::kUnknown, 500, "internal_error"},
        Row{absl::StatusCode::kDataLoss, 500, "internal_error"}}) {
    ApiError error = ToApiError(absl::Status(row.status, "why"));
    EXPECT_EQ(error.http_status, row.http);
    EXPECT_EQ(error.code, row.code);
  }
}

TEST(Errors, NameTheFieldAtFault) {
  const ApiError error = ToApiError(InvalidField("top_p", "3 is not in (0, 1]"));
  EXPECT_EQ(error.param, "top_p");
  EXPECT_EQ(error.message, "top_p: 3 is not in (0, 1]");
  EXPECT_EQ(ToApiError(AtField("model", absl::OutOfRangeError("x"))).param, "model");
  EXPECT_EQ(ToApiError(InvalidField("\xFF", "x")).param, "\xEF\xBF\xBD");
  EXPECT_EQ(ToApiError(absl::InvalidArgumentError("json: at byte 3")).param, "");
}

TEST(Errors, NameTheFieldThatEndedAChoice) {
  v1::Finished finished;
  EXPECT_TRUE(ErrorOf(finished).ok());
  finished.set_reason(v1::Finished::REASON_ERROR);
  finished.set_error("no token is left");
  EXPECT_EQ(ErrorOf(finished), absl::InternalError("no token is left"));
  finished.set_error_code(static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  finished.set_error_field("constraint");
  EXPECT_EQ(ErrorOf(finished), InvalidField("constraint", "no token is left"));
}

TEST(Errors, KeepInnerMessagesFromClients) {
  ApiError error = ToApiError(absl::InternalError("/var/lib/secret.gguf at 0x7f00"));
  EXPECT_EQ(error.message, "internal error");
}

TEST(Errors, HaveACodeOfTheirOwnWhereTheStatusIsNotEnough) {
  absl::Status status = absl::ResourceExhaustedError("the prompt takes 3 s, 1 s are left to the deadline");
  SetErrorCode(status, "deadline_too_short");
  EXPECT_EQ(ToApiError(status).http_status, 429);
  EXPECT_EQ(ToApiError(status).code, "deadline_too_short");
}

TEST(Errors, HaveValidTextWhateverTheClientSent) {
  EXPECT_EQ(ToApiError(absl::NotFoundError("the model '\xFF'")).message, "the model '\xEF\xBF\xBD'");
  EXPECT_EQ(HttpError(405, "\xFF").message, "\xEF\xBF\xBD");
}

TEST(Errors, SayWhenToComeBack) {
  absl::Status status = absl::ResourceExhaustedError("the queue is full");
  SetRetryAfter(status, 6.2);
  EXPECT_EQ(ToApiError(status).retry_after_seconds, 7);
  EXPECT_EQ(ToApiError(absl::UnavailableError("x")).retry_after_seconds, 1);
  EXPECT_EQ(ToApiError(absl::InternalError("x")).retry_after_seconds, 0);
}

}  // namespace
}  // namespace inferd::gateway
