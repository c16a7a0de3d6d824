// The seconds travel as a payload of the status.
#include "engine/generation/refusal.h"

#include <string>

#include "config/base/status.h"

namespace inferd::engine {
namespace {

constexpr char kRetryAfterPayload[] = "inferd.dev/retry-after-seconds";

}  // namespace

absl::Status RefusalStatus(const scheduler::Rejection& rejection) {
  absl::Status status = ResourceExhausted("{}", rejection.message);
  status.SetPayload(kRetryAfterPayload, absl::Cord(fmt::format("{}", rejection.expected_wait_seconds)));
  return status;
}

std::optional<double> RetryAfterSeconds(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterPayload);
  if (!payload) return std::nullopt;
  return std::stod(std::string(*payload));
}

const char* ReasonName(scheduler::RejectionReason reason) {
  return reason == scheduler::RejectionReason::kDeadline ? "deadline" : "queue_full";
}

}  // namespace inferd::engine
