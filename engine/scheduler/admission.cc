// The rules of the header, in order of what a client can do about them.
#include "engine/scheduler/admission.h"

#include <algorithm>
#include <cmath>

#include "config/base/status.h"
#include "engine/scheduler/expected_wait.h"

namespace inferd::scheduler {
namespace {

// With milliseconds where a second is long.
std::string Shown(double seconds) {
  return std::abs(seconds) < 1 ? fmt::format("{:.3f} s", seconds) : fmt::format("{:.1f} s", seconds);
}

double Seconds(MonotonicTime from, MonotonicTime to) { return std::chrono::duration<double>(to - from).count(); }

Rejection FullQueue(double wait, std::string what) {
  return {RejectionReason::kQueueFull, wait, fmt::format("queue is full: {}, expected wait {}", what, Shown(wait))};
}

}  // namespace

std::optional<Rejection> CheckAdmission(const QueueLimits& limits, const Load& load, const Arrival& arrival,
                                        const Rates& rates) {
  if (arrival.resumed) return std::nullopt;
  const double wait = ExpectedWaitSeconds(limits, load, arrival, rates);
  // What has a worse priority takes no room from it.
  int64_t choices = load.waiting_choices, waiting = load.prefill_tokens + load.embedding_tokens;
  for (size_t i = static_cast<size_t>(arrival.priority) + 1; i < load.classes.size(); ++i) {
    choices -= load.classes[i].waiting_choices;
    waiting -= load.classes[i].prompts.tokens() + load.embeddings[i].tokens();
  }
  // One with more choices than the queue has places waits alone.
  const bool alone = choices <= 0 && limits.max_requests > 0;
  if (!alone && !load.Begins(arrival, limits) && choices + arrival.choices() > limits.max_requests) {
    return FullQueue(wait, fmt::format("{} requests are waiting, {} more exceed the limit of {}", choices,
                                       arrival.choices(), limits.max_requests));
  }
  if (limits.max_tokens > 0 && waiting > 0 && waiting + arrival.tokens > limits.max_tokens) {
    return FullQueue(wait, fmt::format("{} prompt tokens are waiting, {} more exceed the limit of {}", waiting,
                                       arrival.tokens, limits.max_tokens));
  }
  if (!rates.knows_prompts() || !(arrival.embeds || rates.knows_answers())) return std::nullopt;
  // An idle engine takes any request that fits: the wait is then the request's own work.
  if (!load.idle() && limits.max_wait_seconds > 0 && wait > limits.max_wait_seconds) {
    return Rejection{RejectionReason::kWaitTooLong, wait,
                     fmt::format("expected wait {} exceeds the limit of {:g} s", Shown(wait), limits.max_wait_seconds)};
  }
  if (arrival.deadline) {
    const double left = Seconds(arrival.now, *arrival.deadline);
    if (wait > left) {
      return Rejection{RejectionReason::kDeadline, wait,
                       fmt::format("expected wait {} exceeds the {} left to the deadline", Shown(wait), Shown(left))};
    }
  }
  return std::nullopt;
}

std::optional<Rejection> CheckWaiting(const QueueLimits& limits, const Arrival& arrival, MonotonicTime now,
                                      const Rates& rates) {
  if (arrival.resumed) return std::nullopt;
  const double waited = Seconds(arrival.now, now);
  if (limits.max_wait_seconds > 0 && waited > limits.max_wait_seconds) {
    return Rejection{
        RejectionReason::kWaitTooLong, 0,
        fmt::format("the request has waited {}, the limit is {:g} s", Shown(waited), limits.max_wait_seconds)};
  }
  if (!arrival.deadline || *arrival.deadline <= now || !rates.knows_prompts()) return std::nullopt;
  const double left = Seconds(now, *arrival.deadline);
  const double own = static_cast<double>(arrival.tokens) * rates.prefill_seconds_per_token();
  if (own <= left) return std::nullopt;
  return Rejection{RejectionReason::kDeadline, 0,
                   fmt::format("the prompt takes {}, {} are left to the deadline", Shown(own), Shown(left))};
}

}  // namespace inferd::scheduler
