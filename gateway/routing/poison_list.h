// Digests of requests that ended a worker twice: refused for a while, so that clients' retries cannot keep a model
// down.
//
//   PoisonList poison(Clock::System());
//   RETURN_IF_ERROR(poison.Check(request));
//   return poison.Add(request);      // two workers died of it
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"

namespace google::protobuf {
class Message;
}

namespace inferd::gateway {

// SHA-256 over all that decides the output of a request, of any call, but its seed (not its ids, user, deadline or
// resumption).
std::string RequestDigest(const google::protobuf::Message& request);

class PoisonList {
 public:
  explicit PoisonList(const Clock& clock) : clock_(clock) {}

  // Returns what to end the request with, INTERNAL.
  absl::Status Add(const google::protobuf::Message& request);
  // FAILED_PRECONDITION: it is refused.
  absl::Status Check(const google::protobuf::Message& request);

  static constexpr std::chrono::minutes kRefusedFor{10};
  // The oldest entries go beyond this number.
  static constexpr size_t kMaxEntries = 4096;

 private:
  bool Contains(const google::protobuf::Message& request);
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  absl::Mutex mutex_;
  std::map<std::string, MonotonicTime> added_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
