#include "daemon/backoff.h"

#include <algorithm>

namespace inferd::daemon {

std::optional<Milliseconds> Backoff::AfterCrash(MonotonicTime now) {
  while (!crashes_.empty() && now - crashes_.front() >= options_.window) crashes_.pop_front();
  crashes_.push_back(now);
  if (crashes_.size() > options_.max) return std::nullopt;
  double wait = static_cast<double>(options_.first_delay.count());
  const double limit = static_cast<double>(options_.max_delay.count());
  for (size_t i = 1; i < crashes_.size() && wait < limit; ++i) wait *= 2;
  wait = std::min(wait, limit);
  return Milliseconds(static_cast<int64_t>(wait * (1.0 - 0.5 * random_())));
}

}  // namespace inferd::daemon
