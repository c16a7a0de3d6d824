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
#include <vector>

#include "config/base/clock.h"
#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

struct QueueLimits {
  int64_t max_requests = 256;    // waiting
  int64_t max_tokens = 0;        // prompt tokens waiting; 0: no bound
  double max_wait_seconds = 30;  // 0: no bound
  int64_t max_sequences = 32;    // running at once
  int64_t prefill_tokens = 256;  // of one step
};

// A new request: to generate, or to embed texts.
struct Arrival {
  int64_t tokens = 0;     // of the prompt, or of all texts
  int64_t sequences = 1;  // choices; not of texts, which have places of their own
  int64_t blocks = 0;     // of the cache, for the prompts and a page more each
  bool embeds = false;
  bool resumed = false;  // its client has part of the answer: it is not refused for a wait
  MonotonicTime now;
  std::optional<MonotonicTime> deadline;
};

// What is there before the new request.
struct Load {
  int64_t waiting_requests = 0;  // that have not begun
  int64_t running_sequences = 0, decoding_sequences = 0;
  int64_t waiting_sequences = 0;
  int64_t embedding_requests = 0;    // waiting or not
  int64_t prefill_tokens = 0;        // of all of them, not computed yet; a shared prefix once
  int64_t free_blocks = 0;           // beyond what the running sequences' prompts and next pages take
  std::vector<int64_t> tokens_left;  // that each running sequence is expected to generate, ascending

  bool idle() const { return running_sequences + waiting_sequences + embedding_requests == 0; }
  // Whether a request that comes now begins in the next step.
  bool Begins(const Arrival& arrival, const QueueLimits& limits) const;
  void Add(const Arrival& arrival, const QueueLimits& limits);
};

enum class RejectionReason : uint8_t { kQueueFull, kWaitTooLong, kDeadline };

struct Rejection {
  RejectionReason reason;
  double expected_wait_seconds;
  std::string message;
};

// Seconds until the first token of a request that comes now: its own prompt after those before it, and, where all
// places are taken, after the end of as many sequences as give one of its choices a place.
double ExpectedWaitSeconds(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates);

std::optional<Rejection> CheckAdmission(const QueueLimits& limits, const Load& load, const Arrival& arrival,
                                        const Rates& rates);

// The same for a request that was taken and has not begun: its wait has passed the limit, or too little is left until
// its deadline. The rejection's expected wait is for the caller to fill in.
std::optional<Rejection> CheckWaiting(const QueueLimits& limits, const Arrival& arrival, MonotonicTime now,
                                      const Rates& rates);

}  // namespace inferd::scheduler
