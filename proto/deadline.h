// What deadline_ms may be in the requests of all our programs, however they come.
//
//   RETURN_IF_ERROR(CheckDeadline(request.deadline_ms()));
#pragma once

#include <cstdint>

#include "config/base/status.h"

namespace inferd {

inline constexpr uint64_t kMostDeadlineMilliseconds = uint64_t{1000} * 60 * 60 * 24 * 365;  // a year

// INVALID_ARGUMENT names the field.
inline absl::Status CheckDeadline(uint64_t milliseconds) {
  if (milliseconds >= 1 && milliseconds <= kMostDeadlineMilliseconds) return absl::OkStatus();
  return InvalidArgument("deadline_ms: {} is not in [1, {}]", milliseconds, kMostDeadlineMilliseconds);
}

}  // namespace inferd
