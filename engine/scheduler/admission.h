// Whether one more request may wait: bounded by requests, by tokens and by the time that it would have to wait.
//
//   Arrival arrival{.tokens = 4000, .blocks = 63, .now = clock.Now()};
//   std::optional<Rejection> no = CheckAdmission(limits, load, arrival, rates);
//   if (no) return RefusalStatus(*no);      // no->expected_wait_seconds becomes Retry-After
//   load.Add(arrival, limits);
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/scheduler/load.h"
#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

enum class RejectionReason : uint8_t { kQueueFull, kWaitTooLong, kDeadline };

struct Rejection {
  RejectionReason reason;
  double expected_wait_seconds;
  std::string message;
};

std::optional<Rejection> CheckAdmission(const QueueLimits& limits, const Load& load, const Arrival& arrival,
                                        const Rates& rates);

// The same for a request that was taken and has not begun: its wait has passed the limit, or too little is left until
// its deadline (one that has passed is the scheduler's to see). The rejection's expected wait is for the caller to fill
// in.
std::optional<Rejection> CheckWaiting(const QueueLimits& limits, const Arrival& arrival, MonotonicTime now,
                                      const Rates& rates);

}  // namespace inferd::scheduler
