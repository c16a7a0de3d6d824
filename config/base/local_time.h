// Dates for people: the fields of the calendar in the machine's time zone.
//
//   ASSIGN_OR_RETURN(const std::tm now, LocalTime(Clock::System().WallNow()));
#pragma once

#include <cstdint>
#include <ctime>

#include "absl/status/statusor.h"
#include "config/base/clock.h"

namespace inferd {

// INVALID_ARGUMENT: a year that no calendar has.
absl::StatusOr<std::tm> LocalTime(int64_t unix_seconds);
inline absl::StatusOr<std::tm> LocalTime(WallTime time) {
  return LocalTime(int64_t{std::chrono::system_clock::to_time_t(time)});
}

}  // namespace inferd
