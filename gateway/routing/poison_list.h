// Digests of requests that ended a worker twice: refused for a while, so that clients' retries cannot keep a model
// down.
//
//   PoisonList poison(Clock::System());
//   if (poison.Contains(request)) return FailedPrecondition("...");
//   poison.Add(request);
#pragma once

#include <map>
#include <string>

#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::gateway {

// SHA-256 over all that decides a request's output but its seed (not its ids, user, deadline or resumption).
std::string RequestDigest(const v1::GenerateRequest& request);

class PoisonList {
 public:
  explicit PoisonList(const Clock& clock) : clock_(clock) {}

  void Add(const v1::GenerateRequest& request);
  bool Contains(const v1::GenerateRequest& request);

  static constexpr std::chrono::minutes kRefusedFor{10};
  // The oldest entries go beyond this number.
  static constexpr size_t kMaxEntries = 4096;

 private:
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  absl::Mutex mutex_;
  std::map<std::string, MonotonicTime> added_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
