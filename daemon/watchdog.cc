#include "daemon/watchdog.h"

#include "config/base/status.h"

namespace inferd::daemon {

void Watchdog::Answered(MonotonicTime now, uint64_t steps, bool has_work) {
  last_answer_ = now;
  if (!has_work || steps != steps_) last_progress_ = now;
  steps_ = steps;
}

std::optional<std::string> Watchdog::Expired(MonotonicTime now) {
  if (now - checked_ > limit_ / 2) last_answer_ = last_progress_ = now;
  checked_ = now;
  if (now - last_answer_ >= limit_) return fmt::format("no answer for {} ms", limit_.count());
  if (now - last_progress_ >= limit_) {
    return fmt::format("no progress for {} ms with requests waiting, at step {}", limit_.count(), steps_);
  }
  return std::nullopt;
}

}  // namespace inferd::daemon
