// Whether one more request may wait: bounded by requests, by tokens and by the time that it would have to wait.
//
//   std::optional<Rejection> no = CheckAdmission(limits, load, {.tokens = 4000, .now = clock.Now()}, rates);
//   if (no) return ResourceExhausted("{}", no->message);      // no->expected_wait_seconds becomes Retry-After
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/base/clock.h"
#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

struct QueueLimits {
  int64_t max_requests = 256;    // waiting
  int64_t max_tokens = 0;        // prompt tokens waiting; 0: no bound
  double max_wait_seconds = 30;  // expected; 0: no bound
  int64_t max_sequences = 32;    // running at once
};

// What is there before the new request.
struct Load {
  int64_t waiting_requests = 0;
  int64_t running_sequences = 0;
  int64_t waiting_sequences = 0;
  int64_t prefill_tokens = 0;  // of running and waiting sequences, not computed yet; a shared prefix once
};

struct Arrival {
  int64_t tokens = 0;     // of the prompt
  int64_t sequences = 1;  // choices
  MonotonicTime now;
  std::optional<MonotonicTime> deadline;
};

enum class RejectionReason : uint8_t { kQueueFull, kWaitTooLong, kDeadline };

struct Rejection {
  RejectionReason reason;
  double expected_wait_seconds;
  std::string message;
};

// Seconds until the first token of a request that comes now: the prompts before it and its own, and, where all places
// are taken, the time until enough of those before it have ended.
double ExpectedWaitSeconds(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates);

std::optional<Rejection> CheckAdmission(const QueueLimits& limits, const Load& load, const Arrival& arrival,
                                        const Rates& rates);

}  // namespace inferd::scheduler
