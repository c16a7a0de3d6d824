// Requests per minute of each key: a bucket that holds a minute's worth and refills evenly.
//
//   RateLimiter limiter(Clock::System());
//   std::optional<std::chrono::milliseconds> wait = limiter.Take("team-a", 600);   // none: go on
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"

namespace inferd::gateway {

class RateLimiter {
 public:
  explicit RateLimiter(const Clock& clock) : clock_(clock) {}

  // Takes one request of `who`, of whom `per_minute` (> 0) are allowed. Otherwise the time until the next one is.
  std::optional<Milliseconds> Take(const std::string& who, uint32_t per_minute);

  // Takes more of one that was let through, beyond what there is if need be: who took much waits for it later.
  void Charge(const std::string& who, uint32_t requests);

  // Full buckets are forgotten when there are more than this many.
  static constexpr size_t kMaxBuckets = 100'000;

 private:
  struct Bucket {
    double tokens = 0;
    MonotonicTime filled;
    uint32_t per_minute = 0;
  };
  void ForgetFull(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
