// How long to wait before a process that crashed is started again, and when to give up.
//
//   Backoff backoff(options.restart, random);
//   if (std::optional<Milliseconds> wait = backoff.AfterCrash(clock.Now())) loop.RunAfter(*wait, ...);
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "config/base/clock.h"
#include "config/config.h"

namespace inferd::daemon {

class Backoff {
 public:
  // `random` gives numbers in [0, 1).
  Backoff(const config::RestartOptions& options, std::function<double()> random)
      : options_(options), random_(std::move(random)) {}

  // The wait: doubled for each crash within the window, up to the maximum, of which a random half is taken off so that
  // processes that died together do not come back together. nullopt: the budget is spent.
  std::optional<Milliseconds> AfterCrash(MonotonicTime now);

  // From the next crash on.
  void SetOptions(const config::RestartOptions& options) { options_ = options; }

  // An operator asked for a start: the past is forgotten.
  void Reset() { crashes_.clear(); }

 private:
  config::RestartOptions options_;
  const std::function<double()> random_;
  std::deque<MonotonicTime> crashes_;  // within the window, oldest first
};

}  // namespace inferd::daemon
