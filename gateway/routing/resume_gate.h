// After a worker's death the requests that it computed go on one after the other: the next starts when the one before
// has got further. So a request that kills workers dies alone the second time, and the innocent beside it are not
// blamed.
//
//   if (!gate.TryEnter(key)) { co_await gate.WaitForTurn(key, executor, deadline); ... }
//   gate.Leave(key);        // as soon as it got further, or ended
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gateway/async/signal.h"

namespace inferd::gateway {

class ResumeGate {
 public:
  // True: the caller is the one that may start for `key`, until Leave().
  bool TryEnter(const std::string& key);
  void Leave(const std::string& key);
  // Until someone leaves, the deadline, or somebody else notifies `turn`; then TryEnter() again. Runs on `executor`.
  Task<void> WaitForTurn(std::string key, Executor executor, TimePoint deadline, std::shared_ptr<Signal> turn);
  // How many wait for `key` now.
  size_t waiting(const std::string& key) const;

 private:
  struct Waiter;
  struct Entry {
    bool taken = false;
    std::vector<std::weak_ptr<Waiter>> waiters;
  };
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
