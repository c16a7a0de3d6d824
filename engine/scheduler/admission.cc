// The rules of the header, in order of what a client can do about them.
#include "engine/scheduler/admission.h"

#include <algorithm>
#include <cmath>

#include "config/base/status.h"
#include "engine/scheduler/prefill_share.h"

namespace inferd::scheduler {
namespace {

// With milliseconds where a second is long.
std::string Shown(double seconds) {
  return std::abs(seconds) < 1 ? fmt::format("{:.3f} s", seconds) : fmt::format("{:.1f} s", seconds);
}

double Seconds(MonotonicTime from, MonotonicTime to) { return std::chrono::duration<double>(to - from).count(); }

// Until so many of the running sequences, and of those that take their places, have ended.
double SecondsUntilEnds(int64_t ends, const Load& load, const Rates& rates) {
  const int64_t running = static_cast<int64_t>(load.tokens_left.size());
  if (ends <= 0) return 0;
  const int64_t rounds = running > 0 ? (ends - 1) / running : ends;
  const double first =
      running > 0 ? static_cast<double>(load.tokens_left[static_cast<size_t>((ends - 1) % running)]) : 0;
  return (first + static_cast<double>(rounds) * rates.generated_tokens()) * rates.stream_step_seconds();
}

// Of a prompt's token, while streams take their part of each step.
double PromptTokenSeconds(const QueueLimits& limits, const Load& load, const Rates& rates) {
  const double token = rates.prefill_seconds_per_token();
  if (load.decoding_sequences == 0) return token;
  const int64_t prompts = load.running_sequences - load.decoding_sequences + 1;  // the others wait for a place
  const int64_t budget = PrefillBudget(limits.prefill_tokens, rates, load.decoding_sequences, prompts);
  return token + rates.decode_step_seconds(load.decoding_sequences) / static_cast<double>(budget);
}

Rejection FullQueue(double wait, std::string what) {
  return {RejectionReason::kQueueFull, wait, fmt::format("queue is full: {}, expected wait {}", what, Shown(wait))};
}

}  // namespace

bool Load::Begins(const Arrival& arrival, const QueueLimits& limits) const {
  if (arrival.embeds) return embedding_requests == 0;
  if (waiting_sequences > 0) return false;
  if (running_sequences == 0) return true;  // with some of its choices at least
  return running_sequences + arrival.sequences <= limits.max_sequences && arrival.blocks <= free_blocks;
}

void Load::Add(const Arrival& arrival, const QueueLimits& limits) {
  const bool begins = Begins(arrival, limits);
  waiting_requests += begins ? 0 : 1;
  prefill_tokens += arrival.tokens;
  if (arrival.embeds) {
    ++embedding_requests;
    return;
  }
  (begins ? running_sequences : waiting_sequences) += arrival.sequences;
  if (begins) free_blocks -= arrival.blocks;
}

double ExpectedWaitSeconds(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates) {
  // The first of its choices begins when one place is free.
  const int64_t places =
      load.running_sequences + load.waiting_sequences + std::min<int64_t>(arrival.sequences, 1) - limits.max_sequences;
  const double place = arrival.embeds ? 0 : SecondsUntilEnds(places, load, rates);
  const double token = PromptTokenSeconds(limits, load, rates);
  return std::max(place, static_cast<double>(load.prefill_tokens) * token) +
         static_cast<double>(arrival.tokens) * token;
}

std::optional<Rejection> CheckAdmission(const QueueLimits& limits, const Load& load, const Arrival& arrival,
                                        const Rates& rates) {
  const double wait = ExpectedWaitSeconds(limits, load, arrival, rates);
  if (!load.Begins(arrival, limits) && load.waiting_requests >= limits.max_requests) {
    return FullQueue(wait, fmt::format("{} requests are waiting", load.waiting_requests));
  }
  if (limits.max_tokens > 0 && load.prefill_tokens > 0 && load.prefill_tokens + arrival.tokens > limits.max_tokens) {
    return FullQueue(wait, fmt::format("{} prompt tokens are waiting, {} more exceed the limit of {}",
                                       load.prefill_tokens, arrival.tokens, limits.max_tokens));
  }
  if (arrival.resumed) return std::nullopt;
  // An idle engine takes any request that fits: the wait is then the request's own work.
  if (!load.idle() && limits.max_wait_seconds > 0 && wait > limits.max_wait_seconds) {
    return Rejection{RejectionReason::kWaitTooLong, wait,
                     fmt::format("expected wait {} exceeds the limit of {:g} s", Shown(wait), limits.max_wait_seconds)};
  }
  if (arrival.deadline) {
    const double left = Seconds(arrival.now, *arrival.deadline);
    if (left <= 0 || wait > left) {
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
  if (!arrival.deadline) return std::nullopt;
  const double left = Seconds(now, *arrival.deadline);
  const double own = static_cast<double>(arrival.tokens) * rates.prefill_seconds_per_token();
  if (left > 0 && own <= left) return std::nullopt;
  return Rejection{RejectionReason::kDeadline, 0,
                   fmt::format("the prompt takes {}, {} are left to the deadline", Shown(own), Shown(left))};
}

}  // namespace inferd::scheduler
