// What a process that the supervisor started does for its part: it ends when the supervisor is gone, hears signals in
// one place, and says why it failed.
//
//   ASSIGN_OR_RETURN(auto watch, ChildProcess::Start({.lifeline_fd = 5, .report_fd = 6},
//                                                    [&](int signal) { server.Drain(); }));
//   ...
//   watch->Report(InvalidArgument("model chat: file is truncated"));   // read by the supervisor, shown by `inferctl
//   status` return 3;
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/base/clock.h"

namespace inferd {

// Exit codes of every program; kExitRefused of workers alone.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRefused = 3;
// Of workers alone: the memory that they may have is used up.
inline constexpr int kExitOutOfMemory = 4;

struct ChildDescriptors {
  // Read end of a pipe whose write end the supervisor alone holds; -1: started by hand.
  int lifeline_fd = -1;
  // Write end of the pipe for the reason of a failure; -1: none.
  int report_fd = -1;
};

class ChildProcess {
 public:
  // Call first in main, before any other thread exists: it blocks SIGTERM, SIGINT, SIGHUP and SIGUSR2 and starts a
  // thread that calls `on_signal` for the first SIGTERM or SIGINT (SIGHUP is ignored: the supervisor reloads), exits
  // the process at once with code 1 for the second, and exits at once when the lifeline ends. `on_daemon_ends` is
  // called for SIGUSR2: the supervisor sends it before SIGTERM where no other process will take this one's place.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      ChildDescriptors descriptors, std::function<void(int signal)> on_signal,
      std::function<void()> on_daemon_ends = [] {});
  // Stops the thread.
  ~ChildProcess();

  // The time for running requests that whoever sent SIGTERM gave with it in milliseconds (sigqueue), else `configured`.
  // Of use from on_signal on.
  Milliseconds DrainTime(Milliseconds configured) const;

  // Tells the supervisor why the process is about to end with another code than 0: the field at fault in a line, the
  // text in the next. At most 4096 bytes.
  void Report(const absl::Status& reason) const;

 private:
  struct Impl;
  explicit ChildProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd
