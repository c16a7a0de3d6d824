#include "gateway/api/respond.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/anthropic/form.h"
#include "gateway/api/field_names.h"
#include "gateway/openai/form.h"

namespace inferd::gateway {
namespace {

TEST(FieldNames, CallFieldsAsTheClientDoes) {
  static constexpr FieldName kNames[] = {{"chat.messages", "messages"}, {"chat", "messages"}, {"inputs", "input"}};
  const std::pair<const char*, const char*> cases[] = {
      {"chat.messages[3].role", "messages[3].role"},
      {"chat", "messages"},
      {"inputs[1]", "input[1]"},
      {"inputs", "input"},
      {"inputs_or_so", "inputs_or_so"},
      {"no inputs", "no inputs"},
      {"", ""},
  };
  for (const auto& [ours, theirs] : cases) {
    absl::Status status = AtField(ours, absl::UnavailableError("inputs: bad"));
    SetRetryAfter(status, 7);
    const absl::Status renamed = WithFieldNames(status, kNames);
    EXPECT_EQ(FieldOf(renamed), theirs);
    EXPECT_EQ(TextOf(renamed), "inputs: bad");
    EXPECT_EQ(renamed.code(), status.code());
    EXPECT_EQ(RetryAfterSeconds(renamed), 7);
  }
  EXPECT_TRUE(WithFieldNames(absl::OkStatus(), kNames).ok());
}

TEST(Respond, SayWhenToComeBack) {
  absl::Status status = absl::ResourceExhaustedError("the queue is full");
  SetRetryAfter(status, 7);
  Response response = ErrorResponse(OpenAiForm(), ToApiError(status), "req-1");
  EXPECT_EQ(response.status, 429);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0], (std::pair<std::string, std::string>("Retry-After", "7")));
  EXPECT_EQ(ErrorResponse(OpenAiForm(), ToApiError(absl::UnavailableError("x")), "req-1").headers[0].second, "1");
  EXPECT_EQ(ErrorResponse(OpenAiForm(), ToApiError(absl::UnauthenticatedError("x")), "req-1").headers[0].second,
            "Bearer");
}

TEST(Respond, HaveTheShapeThatClientsRead) {
  auto body = boost::json::parse(OpenAiForm().error_body(ToApiError(InvalidField("n", "\"x\" is not an integer")), ""));
  EXPECT_EQ(body, (boost::json::value{{"error",
                                       {{"message", "n: \"x\" is not an integer"},
                                        {"type", "invalid_request_error"},
                                        {"param", "n"},
                                        {"code", nullptr}}}}));
}

TEST(Respond, HaveAnthropicsShapeForItsClients) {
  struct Case {
    ApiError error;
    const char* type;
    const char* message;
  };
  const Case cases[] = {
      {ToApiError(absl::InvalidArgumentError("n: bad")), "invalid_request_error", "n: bad"},
      {ToApiError(absl::OutOfRangeError("no room")), "invalid_request_error", "prompt is too long: no room"},
      {ToApiError(absl::UnauthenticatedError("key")), "authentication_error", "key"},
      {ToApiError(absl::PermissionDeniedError("model")), "permission_error", "model"},
      {ToApiError(absl::NotFoundError("model")), "not_found_error", "model"},
      {ToApiError(absl::ResourceExhaustedError("full")), "rate_limit_error", "full"},
      {ToApiError(absl::UnavailableError("loading")), "overloaded_error", "loading"},
      {ToApiError(absl::DeadlineExceededError("late")), "timeout_error", "late"},
      {ToApiError(absl::InternalError("secret")), "api_error", "internal error"},
      {HttpError(404, "no such path"), "not_found_error", "no such path"},
      {HttpError(405, "method"), "invalid_request_error", "method"},
      {HttpError(413, "large"), "request_too_large", "large"},
      {HttpError(501, "not here"), "api_error", "not here"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(
        boost::json::parse(AnthropicForm().error_body(one.error, "req-1")),
        (boost::json::value{
            {"type", "error"}, {"error", {{"type", one.type}, {"message", one.message}}}, {"request_id", "req-1"}}));
  }
}

}  // namespace
}  // namespace inferd::gateway
