#include "gateway/api/deadline_field.h"

#include "config/base/status.h"
#include "proto/deadline.h"

namespace inferd::gateway {

absl::StatusOr<std::optional<std::chrono::milliseconds>> ReadDeadline(Fields& fields) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> deadline, fields.Integer("deadline_ms", 1, kMostDeadlineMilliseconds));
  if (!deadline) return std::nullopt;
  return std::chrono::milliseconds(*deadline);
}

}  // namespace inferd::gateway
