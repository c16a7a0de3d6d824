#include "config/base/local_time.h"

#include "config/base/status.h"

namespace inferd {

absl::StatusOr<std::tm> LocalTime(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm local;
  if (localtime_r(&time, &local) == nullptr) {
    return InvalidArgument("{} seconds since 1970 are no time of the calendar", unix_seconds);
  }
  return local;
}

}  // namespace inferd
