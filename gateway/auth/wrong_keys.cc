#include "gateway/auth/wrong_keys.h"

#include <algorithm>
#include <cmath>

#include "absl/hash/hash.h"

namespace inferd::gateway {

WrongKeys::WrongKeys(uint32_t per_minute, const Clock& clock) : per_minute_(per_minute), clock_(clock) {}

// absl::Hash is seeded anew in each process.
size_t WrongKeys::Mark(const std::string& group, std::string_view presented) const {
  return absl::HashOf(group, presented);
}

std::optional<Milliseconds> WrongKeys::MustWait(const std::string& group, std::string_view presented) {
  if (per_minute_ == 0) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  if (!buckets_.contains(group)) return std::nullopt;
  const Bucket& bucket = Filled(group);
  if (bucket.left >= 1 || right_.contains(Mark(group, presented))) return std::nullopt;
  const double seconds = (1 - bucket.left) * 60 / per_minute_;
  return Milliseconds(static_cast<int64_t>(std::ceil(seconds * 1000)));
}

void WrongKeys::NoteWrong(const std::string& group) {
  if (per_minute_ == 0) return;
  absl::MutexLock lock(&mutex_);
  if (buckets_.size() >= kMostEntries && !buckets_.contains(group)) {
    // Those that would be full again need no entry; where that makes no room, the table begins anew.
    const MonotonicTime now = clock_.Now();
    absl::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.filled >= std::chrono::minutes(1); });
    if (buckets_.size() >= kMostEntries) buckets_.clear();
  }
  Bucket& bucket = Filled(group);
  bucket.left = std::max(0.0, bucket.left - 1);
}

void WrongKeys::NoteRight(const std::string& group, std::string_view presented) {
  if (per_minute_ == 0) return;
  absl::MutexLock lock(&mutex_);
  if (right_.size() >= kMostEntries) right_.clear();
  right_.insert(Mark(group, presented));
}

WrongKeys::Bucket& WrongKeys::Filled(const std::string& group) {
  const MonotonicTime now = clock_.Now();
  const auto [entry, added] = buckets_.try_emplace(group, Bucket{static_cast<double>(per_minute_), now});
  Bucket& bucket = entry->second;
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.left = std::min<double>(per_minute_, bucket.left + seconds * per_minute_ / 60);
  bucket.filled = now;
  return bucket;
}

}  // namespace inferd::gateway
