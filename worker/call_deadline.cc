// gRPC tells deadlines as dates; what is left of them is counted on the clock that no jump moves.
#include "worker/call_deadline.h"

#include <algorithm>

#include "config/base/status.h"
#include "proto/deadline.h"

namespace inferd::worker {
std::optional<MonotonicTime> DeadlineOf(const grpc::CallbackServerContext& context, MonotonicTime now) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::nullopt;
  const auto left = deadline - Clock::System().WallNow();
  if (left > Milliseconds(kMostDeadlineMilliseconds)) return std::nullopt;
  return now + std::chrono::duration_cast<MonotonicTime::duration>(left);
}

absl::StatusOr<std::optional<MonotonicTime>> EarlierDeadline(bool has_own, uint64_t milliseconds,
                                                             const grpc::CallbackServerContext& context,
                                                             MonotonicTime now) {
  return EarlierDeadline(has_own, milliseconds, DeadlineOf(context, now), now);
}

absl::StatusOr<std::optional<MonotonicTime>> EarlierDeadline(bool has_own, uint64_t milliseconds,
                                                             std::optional<MonotonicTime> of_call, MonotonicTime now) {
  if (!has_own) return of_call;
  RETURN_IF_ERROR(CheckDeadline(milliseconds));
  const MonotonicTime own = now + Milliseconds(milliseconds);
  return of_call ? std::min(*of_call, own) : own;
}

}  // namespace inferd::worker
