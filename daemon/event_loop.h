// The one thread that all of the supervisor's decisions run on: descriptors, timers and work posted by other threads.
// Nothing that runs on it may block.
//
//   ASSIGN_OR_RETURN(auto loop, EventLoop::Create(Clock::System()));
//   loop->WatchReadable(signal_fd, [&] { HandleSignals(); });
//   loop->RunAfter(Milliseconds(100), [&] { Retry(); });
//   loop->Run();                                  // until Stop()
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"
#include "config/base/unique_fd.h"

namespace inferd::daemon {

class EventLoop {
 public:
  using Callback = std::function<void()>;
  using TimerId = uint64_t;

  static absl::StatusOr<std::unique_ptr<EventLoop>> Create(const Clock& clock);

  // From any thread, also after Stop (then nothing happens).
  void Post(Callback callback);

  // All others from the loop's thread or before Run.
  TimerId RunAfter(Milliseconds delay, Callback callback);
  // Does nothing for a timer that ran or for 0.
  void Cancel(TimerId timer);
  // Calls back while `fd` is readable or closed by its peer, until Unwatch.
  void WatchReadable(int fd, Callback callback);
  void Unwatch(int fd);

  void Run();
  void Stop() { stopped_ = true; }

  // For tests with a fake clock: runs what is posted and due, without waiting, until there is no more.
  void RunPending();

  const Clock& clock() const { return clock_; }

 private:
  EventLoop(const Clock& clock, UniqueFd wake) : clock_(clock), wake_(std::move(wake)) {}
  bool RunPosted();
  bool RunDueTimers();
  void WaitForDescriptors();
  int TimeoutMilliseconds() const;

  const Clock& clock_;
  UniqueFd wake_;  // eventfd, readable while something is posted
  bool stopped_ = false;
  TimerId next_timer_ = 1;
  struct Timer {
    MonotonicTime due;
    Callback callback;
  };
  std::map<TimerId, Timer> timers_;
  std::map<int, Callback> watches_;
  absl::Mutex mutex_;
  std::vector<Callback> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::daemon
