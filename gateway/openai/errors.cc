#include "gateway/openai/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "absl/strings/ascii.h"
#include "config/base/status.h"
#include "gateway/openai/valid_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr char kRetryAfterPayload[] = "inferd/retry_after_seconds";
constexpr char kErrorCodePayload[] = "inferd/error_code";
constexpr int kDefaultRetrySeconds = 1;
constexpr std::string_view kOverloaded = "overloaded";

struct Row {
  absl::StatusCode code;
  int http_status;
  std::string_view type;
  std::string_view api_code;
};

constexpr std::array kTable = {
    Row{absl::StatusCode::kInvalidArgument, 400, "invalid_request_error", ""},
    Row{absl::StatusCode::kFailedPrecondition, 400, "invalid_request_error", ""},
    Row{absl::StatusCode::kOutOfRange, 400, "invalid_request_error", "context_length_exceeded"},
    Row{absl::StatusCode::kUnauthenticated, 401, "authentication_error", "invalid_api_key"},
    Row{absl::StatusCode::kPermissionDenied, 403, "permission_error", "model_not_allowed"},
    Row{absl::StatusCode::kNotFound, 404, "not_found_error", "model_not_found"},
    Row{absl::StatusCode::kResourceExhausted, 429, "rate_limit_error", "queue_full"},
    Row{absl::StatusCode::kCancelled, 499, "invalid_request_error", "cancelled"},
    Row{absl::StatusCode::kUnimplemented, 501, "server_error", "not_implemented"},
    Row{absl::StatusCode::kUnavailable, 503, "server_error", "model_unavailable"},
    Row{absl::StatusCode::kDeadlineExceeded, 504, "server_error", "deadline_exceeded"},
};
constexpr Row kInternal{absl::StatusCode::kInternal, 500, "server_error", "internal_error"};

// "top_p" of "top_p: 3 is not in (0, 1]"; empty if the message does not begin with the name of a field.
std::string_view FieldOf(std::string_view message) {
  size_t colon = message.find(": ");
  if (colon == std::string_view::npos || colon == 0) return {};
  std::string_view field = message.substr(0, colon);
  bool plain = std::all_of(field.begin(), field.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
  });
  return plain ? field : std::string_view();
}

json::value NullIfEmpty(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string_view(text.data(), text.size()));
}

}  // namespace

ApiError ToApiError(const absl::Status& status) {
  auto row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& r) { return r.code == status.code(); });
  const Row& found = row == kTable.end() ? kInternal : *row;
  ApiError error;
  error.http_status = found.http_status;
  error.type = found.type;
  error.code = found.api_code;
  if (const auto code = status.GetPayload(kErrorCodePayload)) error.code = std::string(*code);
  error.message = found.http_status == 500 ? "internal error" : ValidText(MessageOf(status));
  if (found.http_status == 400) error.param = FieldOf(MessageOf(status));
  if (found.http_status == 404) error.param = "model";
  if (found.http_status == 429 || found.http_status == 503) {
    error.retry_after_seconds = RetryAfter(status).value_or(kDefaultRetrySeconds);
  }
  return error;
}

absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names) {
  const std::string_view message = MessageOf(status);
  for (const FieldName& name : names) {
    if (!message.starts_with(name.ours) || message.size() == name.ours.size()) continue;
    const std::string_view rest = message.substr(name.ours.size());
    if (rest.front() != '.' && rest.front() != '[' && !rest.starts_with(": ")) continue;
    absl::Status renamed(status.code(), fmt::format("{}{}", name.theirs, rest));
    status.ForEachPayload([&](absl::string_view url, const absl::Cord& value) { renamed.SetPayload(url, value); });
    return renamed;
  }
  return status;
}

ApiError HttpError(int http_status, std::string_view message, std::string_view code) {
  ApiError error;
  error.http_status = http_status;
  error.type = http_status >= 500 ? "server_error" : http_status == 429 ? "rate_limit_error" : "invalid_request_error";
  error.code = code;
  error.message = ValidText(message);
  if (http_status == 500 && code.empty()) error.code = kInternal.api_code;
  if (http_status == 503) {
    if (code.empty()) error.code = kOverloaded;
    error.retry_after_seconds = kDefaultRetrySeconds;
  }
  return error;
}

std::string ErrorBody(const ApiError& error) {
  json::object inner;
  inner["message"] = json::string_view(error.message);
  inner["type"] = json::string_view(error.type);
  inner["param"] = NullIfEmpty(error.param);
  inner["code"] = NullIfEmpty(error.code);
  json::object outer;
  outer["error"] = std::move(inner);
  return json::serialize(outer);
}

Response ErrorResponse(const ApiError& error) {
  Response response;
  response.status = error.http_status;
  response.body = ErrorBody(error);
  if (error.http_status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("Retry-After", fmt::to_string(error.retry_after_seconds));
  }
  return response;
}

void SetRetryAfter(absl::Status& status, int seconds) {
  status.SetPayload(kRetryAfterPayload, absl::Cord(fmt::to_string(seconds)));
}

std::optional<int> RetryAfter(const absl::Status& status) {
  auto payload = status.GetPayload(kRetryAfterPayload);
  if (!payload) return std::nullopt;
  std::string text(*payload);
  int seconds = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds <= 0) return std::nullopt;
  return seconds;
}

void SetErrorCode(absl::Status& status, std::string_view code) {
  status.SetPayload(kErrorCodePayload, absl::Cord(absl::string_view(code.data(), code.size())));
}

}  // namespace inferd::gateway
