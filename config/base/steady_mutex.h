// A mutex whose timed waits follow the monotonic clock. (absl::Mutex waits by the wall clock: where that is set back by
// an hour, a wait of a second takes an hour and a second.) Without a timed wait, absl::Mutex serves as well.
//
//   SteadyMutex mutex_;
//   bool done_ GUARDED_BY(mutex_) = false;
//   SteadyLock lock(&mutex_);
//   const auto done = [this]() EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_; };
//   const bool in_time = mutex_.AwaitUntil(done, Clock::System().Now() + std::chrono::seconds(1));
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "config/base/clock.h"

namespace inferd {

class ABSL_LOCKABLE SteadyMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  // Whoever awaits something looks again. Told while we still hold it: the one who waits may destroy the mutex as soon
  // as he has it.
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    if (waiting_ > 0) changed_.notify_all();
    mutex_.unlock();
  }

  // Gives the mutex up until `condition()`, which is asked with the mutex held.
  template <typename Condition>
  void Await(Condition condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    Holding([&](std::unique_lock<std::mutex>& lock) { changed_.wait(lock, condition); });
  }

  // The same, for as long as the deadline (of the system's clock) has not passed; the condition's last value.
  template <typename Condition>
  bool AwaitUntil(Condition condition, MonotonicTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) {
    bool holds = false;
    Holding([&](std::unique_lock<std::mutex>& lock) { holds = changed_.wait_until(lock, deadline, condition); });
    return holds;
  }

 private:
  template <typename Wait>
  void Holding(Wait wait) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::unique_lock<std::mutex> lock(mutex_, std::adopt_lock);
    // Others may wait for what we have changed before we began to wait ourselves.
    if (waiting_ > 0) changed_.notify_all();
    ++waiting_;
    wait(lock);
    --waiting_;
    lock.release();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ ABSL_GUARDED_BY(this) = 0;
};

class ABSL_SCOPED_LOCKABLE SteadyLock {
 public:
  explicit SteadyLock(SteadyMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(*mutex) { mutex_.Lock(); }
  ~SteadyLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  SteadyLock(const SteadyLock&) = delete;

 private:
  SteadyMutex& mutex_;
};

}  // namespace inferd
