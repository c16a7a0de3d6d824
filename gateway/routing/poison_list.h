// Requests that ended a worker twice: refused for a while, so that clients' retries cannot keep a model down. So are
// those that are like them, and everything of a caller who goes on with others.
//
//   PoisonList poison(Clock::System());
//   RETURN_IF_ERROR(poison.Check(request, caller));
//   return poison.Add(request, caller);      // two workers died of it
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

// What requests have in common that take as much memory for the same reason: kind of call, model, size class (a power
// of two), and which fields are set, of lists with the size class of their length.
std::string RequestLikeness(const google::protobuf::Message& request);

class PoisonList {
 public:
  explicit PoisonList(const Clock& clock) : clock_(clock) {}

  // `caller`: the name of a key, or an address. Returns what to end the request with, INTERNAL.
  absl::Status Add(const google::protobuf::Message& request, const std::string& caller);
  // FAILED_PRECONDITION: it is refused.
  absl::Status Check(const google::protobuf::Message& request, const std::string& caller);

  static constexpr std::chrono::minutes kRefusedFor{10};
  // The oldest entries go beyond this number.
  static constexpr size_t kMaxEntries = 4096;
  // One that is so large ends workers by its size, and so will others like it. A small one may be like anybody's: of
  // those, two different ones must have ended workers.
  static constexpr size_t kLargeBytes = 64 << 10;
  // Requests of one caller that each ended two workers, before all of this caller are refused: fewer deaths than
  // supervisor.restart.max allows by default.
  static constexpr uint32_t kMostOfCaller = 4;

 private:
  struct Entry {
    uint32_t count = 0;
    MonotonicTime newest;
  };
  using Entries = std::map<std::string, Entry>;

  uint32_t CountOf(const Entries& entries, const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(Entries& entries, const std::string& name, uint32_t weight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(Entries& entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsEmpty() ABSL_LOCKS_EXCLUDED(mutex_);

  const Clock& clock_;
  absl::Mutex mutex_;
  Entries digests_ ABSL_GUARDED_BY(mutex_);
  Entries likenesses_ ABSL_GUARDED_BY(mutex_);  // of one caller each
  Entries callers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
