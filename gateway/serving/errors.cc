#include "gateway/serving/errors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/json/valid_text.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

constexpr int kDefaultRetrySeconds = 1;
constexpr double kLongestRetrySeconds = 3600;
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

}  // namespace

ApiError ToApiError(const absl::Status& status) {
  auto row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& r) { return r.code == status.code(); });
  const Row& found = row == kTable.end() ? kInternal : *row;
  ApiError error;
  error.http_status = found.http_status;
  error.type = found.type;
  error.code = found.api_code;
  if (const std::string code = ErrorCodeOf(status); !code.empty()) error.code = code;
  error.message = found.http_status == 500 ? "internal error" : ValidText(MessageOf(status));
  if (found.http_status == 400) error.param = ValidText(FieldOf(status));
  if (found.http_status == 404) error.param = "model";
  if (found.http_status == 429 || found.http_status == 503) {
    const double seconds = RetryAfterSeconds(status).value_or(kDefaultRetrySeconds);
    error.retry_after_seconds = static_cast<int>(std::ceil(std::clamp(seconds, 1.0, kLongestRetrySeconds)));
  }
  return error;
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

absl::Status ErrorOf(const v1::Finished& finished) {
  if (finished.reason() == v1::Finished::REASON_CANCELLED) return Cancelled("the generation was cancelled");
  if (finished.reason() != v1::Finished::REASON_ERROR) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(finished.error_code());
  return WithField({code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code, finished.error()},
                   finished.error_field());
}

}  // namespace inferd::gateway
