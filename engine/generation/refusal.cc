// Seconds and reason travel as payloads of the status.
#include "engine/generation/refusal.h"

#include <string>

#include "config/base/status.h"

namespace inferd::engine {
namespace {

constexpr char kRetryAfterPayload[] = "inferd.dev/retry-after-seconds";
constexpr char kDeadlinePayload[] = "inferd.dev/deadline-too-short";

}  // namespace

absl::Status RefusalStatus(const scheduler::Rejection& rejection) {
  absl::Status status = ResourceExhausted("{}", rejection.message);
  status.SetPayload(kRetryAfterPayload, absl::Cord(fmt::format("{}", rejection.expected_wait_seconds)));
  if (rejection.reason == scheduler::RejectionReason::kDeadline) status.SetPayload(kDeadlinePayload, absl::Cord());
  return status;
}

bool IsDeadlineTooShort(const absl::Status& status) { return status.GetPayload(kDeadlinePayload).has_value(); }

std::optional<double> RetryAfterSeconds(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterPayload);
  if (!payload) return std::nullopt;
  return std::stod(std::string(*payload));
}

absl::Status ToPermanent(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) || RetryAfterSeconds(status)) return status;
  return InvalidArgument("{}", MessageOf(status));
}

const char* ReasonName(scheduler::RejectionReason reason) {
  return reason == scheduler::RejectionReason::kDeadline ? "deadline_too_short" : "queue_full";
}

}  // namespace inferd::engine
