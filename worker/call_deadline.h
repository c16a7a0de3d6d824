// When a call must have ended, on the monotonic clock.
//
//   ASSIGN_OR_RETURN(std::optional<MonotonicTime> deadline, EarlierDeadline(true, 500, context, arrival));
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "config/base/clock.h"

namespace inferd::worker {

// nullopt: the call has none.
std::optional<MonotonicTime> DeadlineOf(const grpc::CallbackServerContext& context, MonotonicTime now);

// The earlier of the call's and `milliseconds` after `now` (if `has_own`). INVALID_ARGUMENT: deadline_ms is 0 or more
// than a year.
absl::StatusOr<std::optional<MonotonicTime>> EarlierDeadline(bool has_own, uint64_t milliseconds,
                                                             const grpc::CallbackServerContext& context,
                                                             MonotonicTime now);

// The same without a call.
absl::StatusOr<std::optional<MonotonicTime>> EarlierDeadline(bool has_own, uint64_t milliseconds,
                                                             std::optional<MonotonicTime> of_call, MonotonicTime now);

}  // namespace inferd::worker
