// The life of a process that the supervisor keeps running, a worker or the gateway, as one table.
//
//                  ┌───────────────────────── BackoffOver, Start ◄──────────────────────┐
//                  ▼                                                                    │
//   Stopped ─Start─► Starting ─NotServing─► Loading ─Serving─► Verifying ─Verified─► Ready
//                       │                      │                   │                    │
//                       └──────────────── Exited, Overdue, Rejected, Wedged ────────────┤
//                                                                                       ▼
//   Failed ◄────────────────────────────── GiveUp ────────────────────────────────── Crashed ─Retry─► Backoff
//
//   any of them ─Stop─► Draining (if there is a process) ─Exited─► Stopped
//
//   std::optional<Transition> next = Next(WorkerState::kReady, WorkerEvent::kExited);   // {kCrashed, kDecideRestart}
#pragma once

#include <optional>
#include <string_view>

namespace inferd::daemon {

enum class WorkerState { kStarting, kLoading, kVerifying, kReady, kDraining, kStopped, kCrashed, kBackoff, kFailed };

enum class WorkerEvent {
  kStart,        // wanted by configuration or operator
  kNotServing,   // its health service answers that it is not ready
  kServing,      // ... that it is
  kVerified,     // it is what was asked for
  kRejected,     // it is something else: no restart will help
  kOverdue,      // the deadline of loading or draining passed
  kWedged,       // no progress, or no answer
  kExited,       // the process is gone, or could not be started
  kRetry,        // the restart budget allows one more
  kGiveUp,       // it does not, or the process said that a restart is of no use
  kBackoffOver,  // the wait before a restart is over
  kStop,         // no longer wanted
};

enum class WorkerAction {
  kNone,
  kSpawn,          // start a process
  kVerify,         // ask it what it is
  kAnnounce,       // tell those who wait for it
  kKill,           // SIGKILL
  kDecideRestart,  // gives kRetry or kGiveUp
  kArmRetry,       // gives kBackoffOver later
  kTerminate,      // SIGTERM; gives kOverdue at the drain deadline
  kSettle,         // no process is left and none will come by itself
};

struct Transition {
  WorkerState next;
  WorkerAction action;
  friend bool operator==(const Transition&, const Transition&) = default;
};

// nullopt: the event cannot happen in this state.
std::optional<Transition> Next(WorkerState state, WorkerEvent event);

// "STARTING", "READY", ... as the admin service and the metrics show them.
std::string_view NameOf(WorkerState state);
std::string_view NameOf(WorkerEvent event);

// A process exists, or is believed to.
bool HasProcess(WorkerState state);
// Neither a process nor a timer will change it: READY, STOPPED or FAILED.
bool IsSettled(WorkerState state);

}  // namespace inferd::daemon
