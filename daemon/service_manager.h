// What the service manager is told (sd_notify(3)); without one, nothing happens. A thread of its own sends, because the
// manager's socket may be full and a send then waits for seconds.
//
//   ServiceManager manager;
//   manager.Ready("2 of 2 model versions ready");
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"

namespace inferd::daemon {

class ServiceManager {
 public:
  ServiceManager();
  // Another `send` than sd_notify's, which may wait.
  explicit ServiceManager(std::function<void(const std::string& message)> send);
  // Sends what is waiting.
  ~ServiceManager();

  void Ready(std::string_view status_line);
  // With the monotonic time that belongs to RELOADING=1.
  void Reloading(MonotonicTime now);
  void Stopping(std::string_view status_line);
  // Nothing if the line is the one that was sent last.
  void Status(std::string_view status_line);
  void FeedWatchdog();

  // How often the manager wants to hear FeedWatchdog, nullopt if not at all.
  static std::optional<Milliseconds> WatchdogInterval();

 private:
  void Send(std::string message);
  void SendLoop();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !waiting_.empty() || closing_; }

  const std::function<void(const std::string&)> send_;
  std::string status_line_;
  absl::Mutex mutex_;
  std::vector<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace inferd::daemon
