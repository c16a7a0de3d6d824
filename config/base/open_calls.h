// How many calls are open, and waiting for the last: an answer that is finished may still be on its way to a client
// that reads slowly.
//
//   OpenCalls open;
//   open.Enter(); ... open.Leave();
//   const size_t left = open.WaitForNone(clock.Now() + drain);
#pragma once

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "config/base/clock.h"
#include "config/base/steady_mutex.h"

namespace inferd {

class OpenCalls {
 public:
  void Enter() {
    SteadyLock lock(&mutex_);
    ++open_;
  }
  void Leave() {
    SteadyLock lock(&mutex_);
    --open_;
  }

  // Returns once none is open or the deadline (of the system's clock) has passed, with the number of those left.
  size_t WaitForNone(MonotonicTime deadline) {
    SteadyLock lock(&mutex_);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return open_ == 0; };
    mutex_.AwaitUntil(none, deadline);
    return open_;
  }

 private:
  SteadyMutex mutex_;
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace inferd
