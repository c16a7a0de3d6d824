// Priority of the wire to the scheduler's.
//
//   ASSIGN_OR_RETURN(request.priority, ReadPriority(wire.priority()));
#pragma once

#include "absl/status/statusor.h"
#include "engine/scheduler/priority.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::worker {

// INVALID_ARGUMENT: it has no such value.
absl::StatusOr<scheduler::Priority> ReadPriority(v1::Priority priority);

}  // namespace inferd::worker
