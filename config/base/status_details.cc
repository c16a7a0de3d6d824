#include "config/base/status_details.h"

#include <fmt/format.h>

#include <charconv>

namespace inferd {
namespace {

constexpr char kRetryAfter[] = "inferd/retry_after_seconds";
constexpr char kErrorCode[] = "inferd/error_code";

std::optional<std::string> Get(const absl::Status& status, const char* name) {
  const auto payload = status.GetPayload(name);
  return payload ? std::optional(std::string(*payload)) : std::nullopt;
}

void Set(absl::Status& status, const char* name, std::string_view value) {
  status.SetPayload(name, absl::Cord(absl::string_view(value.data(), value.size())));
}

}  // namespace

void SetRetryAfter(absl::Status& status, double seconds) { Set(status, kRetryAfter, fmt::format("{}", seconds)); }

std::optional<double> RetryAfterSeconds(const absl::Status& status) {
  const std::optional<std::string> text = Get(status, kRetryAfter);
  if (!text) return std::nullopt;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  return error == std::errc() ? std::optional(seconds) : std::nullopt;
}

void SetErrorCode(absl::Status& status, std::string_view code) { Set(status, kErrorCode, code); }

std::string ErrorCodeOf(const absl::Status& status) { return Get(status, kErrorCode).value_or(""); }

absl::Status WithDetailsOf(const absl::Status& from, absl::Status status) {
  from.ForEachPayload([&](absl::string_view name, const absl::Cord& value) { status.SetPayload(name, value); });
  return status;
}

}  // namespace inferd
