// The rules of the header, in order of what a client can do about them.
#include "engine/scheduler/admission.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::scheduler {

double ExpectedWaitSeconds(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates) {
  const double prompts = static_cast<double>(load.prefill_tokens + arrival.tokens) * rates.prefill_seconds_per_token();
  const int64_t ahead = load.running_sequences + load.waiting_sequences + arrival.sequences - limits.max_sequences;
  const double places = static_cast<double>(std::max<int64_t>(ahead, 0)) * rates.request_seconds() /
                        static_cast<double>(limits.max_sequences);
  return std::max(prompts, places);
}

std::optional<Rejection> CheckAdmission(const QueueLimits& limits, const Load& load, const Arrival& arrival,
                                        const Rates& rates) {
  const double wait = ExpectedWaitSeconds(limits, load, arrival, rates);
  if (load.waiting_requests >= limits.max_requests) {
    return Rejection{
        RejectionReason::kQueueFull, wait,
        fmt::format("queue is full: {} requests are waiting, expected wait {:.1f} s", load.waiting_requests, wait)};
  }
  if (limits.max_tokens > 0 && load.prefill_tokens > 0 && load.prefill_tokens + arrival.tokens > limits.max_tokens) {
    return Rejection{RejectionReason::kQueueFull, wait,
                     fmt::format("queue is full: {} prompt tokens are waiting, {} more exceed the limit of {}, "
                                 "expected wait {:.1f} s",
                                 load.prefill_tokens, arrival.tokens, limits.max_tokens, wait)};
  }
  // An idle engine takes any request that fits: the wait is then the request's own work.
  const bool idle = load.running_sequences + load.waiting_sequences == 0;
  if (!idle && limits.max_wait_seconds > 0 && wait > limits.max_wait_seconds) {
    return Rejection{RejectionReason::kWaitTooLong, wait,
                     fmt::format("expected wait {:.1f} s exceeds the limit of {:g} s", wait, limits.max_wait_seconds)};
  }
  if (arrival.deadline) {
    const double left = std::chrono::duration<double>(*arrival.deadline - arrival.now).count();
    if (left <= 0 || wait > left) {
      return Rejection{RejectionReason::kDeadline, wait,
                       fmt::format("expected wait {:.1f} s exceeds the {:.1f} s left to the deadline", wait, left)};
    }
  }
  return std::nullopt;
}

}  // namespace inferd::scheduler
