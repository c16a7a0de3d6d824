#include "gateway/limits/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace inferd::gateway {

std::optional<Milliseconds> RateLimiter::Take(const std::string& who, uint32_t per_minute) {
  MonotonicTime now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  if (buckets_.size() >= kMaxBuckets && !buckets_.contains(who)) ForgetFull(now);
  auto [entry, added] = buckets_.try_emplace(who);
  Bucket& bucket = entry->second;
  if (added || bucket.per_minute != per_minute) bucket = {static_cast<double>(per_minute), now, per_minute};
  double per_second = per_minute / 60.0;
  double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min<double>(per_minute, bucket.tokens + seconds * per_second);
  bucket.filled = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  return Milliseconds(static_cast<int64_t>(std::ceil((1 - bucket.tokens) / per_second * 1000)));
}

void RateLimiter::Charge(const std::string& who, uint32_t requests) {
  absl::MutexLock lock(&mutex_);
  const auto bucket = buckets_.find(who);
  if (bucket != buckets_.end()) bucket->second.tokens -= requests;
}

void RateLimiter::ForgetFull(MonotonicTime now) {
  absl::erase_if(buckets_, [now](const auto& entry) {
    const Bucket& bucket = entry.second;
    double seconds = std::chrono::duration<double>(now - bucket.filled).count();
    return bucket.tokens + seconds * bucket.per_minute / 60.0 >= bucket.per_minute;
  });
}

}  // namespace inferd::gateway
