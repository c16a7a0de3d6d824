// How many calls are open, and waiting for the last: an answer that is finished may still be on its way to a client
// that reads slowly.
//
//   OpenCalls open;
//   open.Enter(); ... open.Leave();
//   const size_t left = open.WaitForNone(clock.Now() + drain);
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/base/clock.h"

namespace inferd {

class OpenCalls {
 public:
  void Enter() {
    absl::MutexLock lock(&mutex_);
    ++open_;
  }
  void Leave() {
    absl::MutexLock lock(&mutex_);
    --open_;
  }

  // Returns once none is open or the deadline (of the system's clock) has passed, with the number of those left.
  size_t WaitForNone(MonotonicTime deadline) {
    const auto time = std::max(deadline - Clock::System().Now(), MonotonicTime::duration::zero());
    absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return open_ == 0; };
    mutex_.AwaitWithTimeout(absl::Condition(&none), absl::FromChrono(time));
    return open_;
  }

 private:
  absl::Mutex mutex_;
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace inferd
