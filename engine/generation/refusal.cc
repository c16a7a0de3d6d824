// Seconds and reason travel as details of the status.
#include "engine/generation/refusal.h"

#include "config/base/status.h"
#include "config/base/status_details.h"

namespace inferd::engine {
namespace {

constexpr char kDeadlineTooShort[] = "deadline_too_short";

}  // namespace

absl::Status RefusalStatus(const scheduler::Rejection& rejection) {
  absl::Status status = ResourceExhausted("{}", rejection.message);
  SetRetryAfter(status, rejection.expected_wait_seconds);
  if (rejection.reason == scheduler::RejectionReason::kDeadline) SetErrorCode(status, kDeadlineTooShort);
  return status;
}

bool IsDeadlineTooShort(const absl::Status& status) { return ErrorCodeOf(status) == kDeadlineTooShort; }

absl::Status ToPermanent(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) || RetryAfterSeconds(status)) return status;
  return WithDetailsOf(status, InvalidArgument("{}", TextOf(status)));
}

const char* ReasonName(scheduler::RejectionReason reason) {
  return reason == scheduler::RejectionReason::kDeadline ? kDeadlineTooShort : "queue_full";
}

}  // namespace inferd::engine
