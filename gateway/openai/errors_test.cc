#include "gateway/openai/errors.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

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

TEST(Errors, NameTheFieldThatAMessageBeginsWith) {
  EXPECT_EQ(ToApiError(absl::InvalidArgumentError("top_p: 3 is not in (0, 1]")).param, "top_p");
  EXPECT_EQ(ToApiError(absl::InvalidArgumentError("messages[0].role: is missing")).param, "messages[0].role");
  EXPECT_EQ(ToApiError(absl::InvalidArgumentError("the body is not JSON: at byte 3")).param, "");
}

TEST(Errors, CallFieldsAsTheClientDoes) {
  static constexpr FieldName kNames[] = {{"chat.messages", "messages"}, {"chat", "messages"}, {"inputs", "input"}};
  const std::pair<const char*, const char*> cases[] = {
      {"chat.messages[3].role: bad", "messages[3].role: bad"},
      {"chat: the template", "messages: the template"},
      {"inputs[1]: bad", "input[1]: bad"},
      {"inputs: bad", "input: bad"},
      {"inputs_or_so: bad", "inputs_or_so: bad"},
      {"no inputs: bad", "no inputs: bad"},
      {"inputs", "inputs"},
      {"", ""},
  };
  for (const auto& [ours, theirs] : cases) {
    absl::Status status = absl::UnavailableError(ours);
    SetRetryAfter(status, 7);
    const absl::Status renamed = WithFieldNames(status, kNames);
    EXPECT_EQ(renamed.message(), theirs);
    EXPECT_EQ(renamed.code(), status.code());
    EXPECT_EQ(RetryAfter(renamed), 7);
  }
  EXPECT_TRUE(WithFieldNames(absl::OkStatus(), kNames).ok());
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
  EXPECT_EQ(ToApiError(WithFieldNames(status, {})).code, "deadline_too_short");
}

TEST(Errors, SayWhenToComeBack) {
  absl::Status status = absl::ResourceExhaustedError("the queue is full");
  SetRetryAfter(status, 7);
  Response response = ErrorResponse(ToApiError(status));
  EXPECT_EQ(response.status, 429);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0], (std::pair<std::string, std::string>("Retry-After", "7")));
  EXPECT_EQ(ErrorResponse(ToApiError(absl::UnavailableError("x"))).headers[0].second, "1");
  EXPECT_EQ(ErrorResponse(ToApiError(absl::UnauthenticatedError("x"))).headers[0].second, "Bearer");
}

TEST(Errors, HaveTheShapeThatClientsRead) {
  auto body = boost::json::parse(ErrorBody(ToApiError(absl::InvalidArgumentError("n: \"x\" is not an integer"))));
  EXPECT_EQ(body, (boost::json::value{{"error",
                                       {{"message", "n: \"x\" is not an integer"},
                                        {"type", "invalid_request_error"},
                                        {"param", "n"},
                                        {"code", nullptr}}}}));
}

}  // namespace
}  // namespace inferd::gateway
