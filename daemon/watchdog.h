// Liveness by progress: a worker lives while it answers and, if it has work, its progress changes, also within a step
// (a step may take longer than the limit).
//
//   Watchdog watchdog(std::chrono::seconds(30), clock.Now());
//   watchdog.Answered(clock.Now(), stats.progress, stats.running + stats.waiting > 0);
//   if (auto reason = watchdog.Expired(clock.Now())) Kill(*reason);
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/base/clock.h"

namespace inferd::daemon {

class Watchdog {
 public:
  Watchdog(Milliseconds limit, MonotonicTime now)
      : limit_(limit), last_answer_(now), last_progress_(now), checked_(now) {}

  void SetLimit(Milliseconds limit) { limit_ = limit; }

  void Answered(MonotonicTime now, uint64_t progress, bool has_work);

  // Why the worker counts as wedged, nullopt while it lives. To be asked a few times within the limit: a gap of more
  // than half of it means that the supervisor itself stood still, and the worker gets its time again.
  std::optional<std::string> Expired(MonotonicTime now);

 private:
  Milliseconds limit_;
  MonotonicTime last_answer_;
  MonotonicTime last_progress_;
  MonotonicTime checked_;
  uint64_t progress_ = 0;
};

}  // namespace inferd::daemon
