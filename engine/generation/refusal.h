// A refused request's status, which carries when to try again.
//
//   return RefusalStatus(*scheduler::CheckAdmission(...));
//   std::optional<double> seconds = RetryAfterSeconds(status);
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "engine/scheduler/admission.h"

namespace inferd::engine {

// RESOURCE_EXHAUSTED.
absl::Status RefusalStatus(const scheduler::Rejection& rejection);

// Seconds after which a refused request may find room; nullopt if the status does not tell.
std::optional<double> RetryAfterSeconds(const absl::Status& status);

// Whether a request was refused because what it has to wait for, or its prompt, takes longer than its deadline leaves.
bool IsDeadlineTooShort(const absl::Status& status);

// As metrics name it.
const char* ReasonName(scheduler::RejectionReason reason);

}  // namespace inferd::engine
