// Keeps one child running as worker_state.h says: spawns it, waits for its readiness, watches its progress, restarts it
// after a crash and ends it after a drain.
//
//   ManagedProcess worker(loop, spawner, {.name = "chat@1", .spec = ..., .probe = ...}, [&] { PublishRoutes(); });
//   worker.Start();
//   ...  worker.OnExit(wait_status) when waitpid returned worker.pid()
//   worker.Stop();
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/clock.h"
#include "config/config.h"
#include "daemon/backoff.h"
#include "daemon/event_loop.h"
#include "daemon/file_identity.h"
#include "daemon/memory.h"
#include "daemon/probe.h"
#include "daemon/spawner.h"
#include "daemon/watchdog.h"
#include "daemon/worker_state.h"

namespace inferd::daemon {

// How a process ended that was not asked to.
enum class ExitCause {
  kNone,
  kExited,       // with code 0
  kSignal,       // by somebody's hand, or a fault of its own
  kOutOfMemory,  // killed by the kernel, which had none left
  kMemoryLimit,  // it needed more than its limit
  kRefused,      // the model, or what was found of it, is not what it should be
  kError,        // one that it reported
  kWatchdog,     // no progress
  kLoadTimeout,  // not ready in time
  kNotStarted,
};

// "exit", "signal", "out_of_memory", ...: as the status, the log and the metrics name it; "" for kNone.
std::string_view NameOf(ExitCause cause);

struct ProcessPlan {
  // For the log, e.g. "worker chat@1".
  std::string name;
  ProcessSpec spec;
  // Further arguments of a start that Start(kQuietly) asked for.
  std::vector<std::string> quiet_arguments;
  // Where a worker listens; empty for the gateway.
  std::string socket_path;
  std::function<std::unique_ptr<Probe>(ProbeEvents)> probe;
  // Whether the process is what was asked for; called when it first serves.
  std::function<absl::Status(const WorkerReport&)> verify;
  // Whether progress is watched (not for the gateway).
  bool watch_progress = true;
  config::SupervisorOptions options;
  std::function<double()> random;
  // How many processes the kernel has killed for want of memory.
  std::function<uint64_t()> out_of_memory_kills = OutOfMemoryKills;
};

// What the exit status of a child means, and the same for people; `out_of_memory` if the kernel counted a kill lately.
struct ExitMeaning {
  ExitCause cause;
  std::string text;
};
ExitMeaning DescribeExit(int wait_status, bool out_of_memory);

// kQuietly: nobody waits for it, and others serve that it should not disturb.
enum class Haste { kFull, kQuietly };

class ManagedProcess {
 public:
  // `on_change` is called after each change of state, when it may already be the next one.
  ManagedProcess(EventLoop& loop, Spawner& spawner, ProcessPlan plan, std::function<void()> on_change);
  ~ManagedProcess();
  ManagedProcess(const ManagedProcess&) = delete;

  // Also ends a wait in BACKOFF or a FAILED state, with a new restart budget. Restarts after it are in full haste.
  void Start(Haste haste = Haste::kFull);
  // SIGTERM now, SIGKILL at `deadline` (with a little time beyond it for the process to say goodbye).
  void Stop(Milliseconds deadline);
  // Asks for a new report(); false if there is no process to ask.
  bool Ask();
  // SIGKILL now, no restart.
  void Kill();
  // From now on; a load that has begun keeps its deadline.
  void SetOptions(const config::SupervisorOptions& options);
  // The caller has waited for pid().
  void OnExit(int wait_status);

  WorkerState state() const { return state_; }
  // -1 while there is none.
  pid_t pid() const { return pid_; }
  uint32_t restarts() const { return restarts_; }
  const std::string& last_error() const { return last_error_; }
  ExitCause last_exit() const { return last_exit_; }
  // Of the ends that nobody asked for.
  const std::map<ExitCause, uint32_t>& exits() const { return exits_; }
  WallTime state_since() const { return state_since_; }
  // From the newest spawn to readiness; 0 before.
  Milliseconds ready_after() const { return ready_after_; }
  // Until the next start while in BACKOFF, else 0.
  Milliseconds backoff_left() const;
  // The newest that it said; of a former process until the new one answers.
  const WorkerReport& report() const { return report_; }
  MonotonicTime reported_at() const { return reported_at_; }
  // Of the file that the newest process was started from: its /proc entry cannot be read where it hides its memory.
  const FileIdentity& program() const { return program_; }
  const std::string& name() const { return plan_.name; }
  const std::string& socket_path() const { return plan_.socket_path; }
  // Of its own; 0: the daemon's.
  uint32_t user() const { return plan_.spec.user; }

 private:
  void Handle(WorkerEvent event);
  void Perform(WorkerAction action);
  void Spawn();
  void Terminate();
  void DecideRestart();
  void Settle();
  void ArmDeadline(Milliseconds delay);
  void OnHealth(bool serving);
  void OnReport(const WorkerReport& report);
  void Poll();
  // Cause of the end that we are about to bring about; the first one counts.
  void SetCause(ExitCause cause, std::string text);

  EventLoop& loop_;
  Spawner& spawner_;
  ProcessPlan plan_;
  const std::function<void()> on_change_;
  Backoff backoff_;

  WorkerState state_ = WorkerState::kStopped;
  WallTime state_since_;
  pid_t pid_ = -1;
  FileIdentity program_;
  UniqueFd report_pipe_;
  std::unique_ptr<Probe> probe_;
  std::optional<Watchdog> watchdog_;
  WorkerReport report_;
  ExitMeaning cause_{ExitCause::kNone, ""};
  MonotonicTime reported_at_;
  uint64_t asked_ = 0;         // number of the newest question
  uint64_t verification_ = 0;  // of the question that verifies
  bool hopeless_ = false;      // a restart would not help
  uint64_t oom_kills_before_ = 0;
  Haste haste_ = Haste::kFull;  // of the next spawn
  std::string last_error_;
  ExitCause last_exit_ = ExitCause::kNone;
  std::map<ExitCause, uint32_t> exits_;
  uint32_t restarts_ = 0;
  Milliseconds drain_{0};
  MonotonicTime spawned_at_;
  MonotonicTime retry_at_;
  Milliseconds ready_after_{0};
  EventLoop::TimerId deadline_timer_ = 0;
  EventLoop::TimerId poll_timer_ = 0;
  // Expires with this object, for what was posted to the loop.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace inferd::daemon
