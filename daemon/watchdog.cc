#include "daemon/watchdog.h"

#include "config/base/status.h"

namespace inferd::daemon {

void Watchdog::Answered(MonotonicTime now, uint64_t progress, bool has_work) {
  last_answer_ = now;
  if (!has_work || progress != progress_) last_progress_ = now;
  progress_ = progress;
}

std::optional<std::string> Watchdog::Expired(MonotonicTime now) {
  if (now - checked_ > limit_ / 2) last_answer_ = last_progress_ = now;
  checked_ = now;
  if (now - last_answer_ >= limit_) return fmt::format("no answer for {} ms", limit_.count());
  if (now - last_progress_ >= limit_) {
    return fmt::format("no progress for {} ms with requests waiting", limit_.count());
  }
  return std::nullopt;
}

}  // namespace inferd::daemon
