// A refused request's status, which carries when to try again.
//
//   return RefusalStatus(*scheduler::CheckAdmission(...));
//   std::optional<double> seconds = RetryAfterSeconds(status);   // config/base/status_details.h
#pragma once

#include "absl/status/status.h"
#include "engine/scheduler/admission.h"

namespace inferd::engine {

// RESOURCE_EXHAUSTED with the seconds after which it may find room.
absl::Status RefusalStatus(const scheduler::Rejection& rejection);

// What a client is to be told: RESOURCE_EXHAUSTED means "later" to it, so where a limit was passed that no time mends
// (of a template's steps, of a grammar's ambiguity) the status becomes INVALID_ARGUMENT. Refusals stay what they are.
absl::Status ToPermanent(const absl::Status& status);

// Whether a request was refused because what it has to wait for, or its prompt, takes longer than its deadline leaves.
bool IsDeadlineTooShort(const absl::Status& status);

// As metrics name it.
const char* ReasonName(scheduler::RejectionReason reason);

}  // namespace inferd::engine
