#include "daemon/worker_state.h"

#include <array>

namespace inferd::daemon {
namespace {

using S = WorkerState;
using E = WorkerEvent;
using A = WorkerAction;

struct Row {
  S state;
  E event;
  Transition transition;
};

// What is not in the table cannot happen. News that may still arrive from a process that is being ended are rows
// without an action.
constexpr Row kTable[] = {
    {S::kStarting, E::kNotServing, {S::kLoading, A::kNone}},
    {S::kStarting, E::kServing, {S::kVerifying, A::kVerify}},
    {S::kStarting, E::kOverdue, {S::kCrashed, A::kKill}},
    {S::kStarting, E::kExited, {S::kCrashed, A::kDecideRestart}},
    {S::kStarting, E::kStop, {S::kDraining, A::kTerminate}},

    {S::kLoading, E::kNotServing, {S::kLoading, A::kNone}},
    {S::kLoading, E::kServing, {S::kVerifying, A::kVerify}},
    {S::kLoading, E::kOverdue, {S::kCrashed, A::kKill}},
    {S::kLoading, E::kExited, {S::kCrashed, A::kDecideRestart}},
    {S::kLoading, E::kStop, {S::kDraining, A::kTerminate}},

    {S::kVerifying, E::kNotServing, {S::kLoading, A::kNone}},
    {S::kVerifying, E::kServing, {S::kVerifying, A::kNone}},
    {S::kVerifying, E::kVerified, {S::kReady, A::kAnnounce}},
    {S::kVerifying, E::kRejected, {S::kCrashed, A::kKill}},
    {S::kVerifying, E::kOverdue, {S::kCrashed, A::kKill}},
    {S::kVerifying, E::kExited, {S::kCrashed, A::kDecideRestart}},
    {S::kVerifying, E::kStop, {S::kDraining, A::kTerminate}},

    // A worker that withdraws (somebody else told it to drain) leaves the routes until it serves again or exits.
    {S::kReady, E::kNotServing, {S::kLoading, A::kNone}},
    {S::kReady, E::kServing, {S::kReady, A::kNone}},
    {S::kReady, E::kWedged, {S::kCrashed, A::kKill}},
    {S::kReady, E::kExited, {S::kCrashed, A::kDecideRestart}},
    {S::kReady, E::kStop, {S::kDraining, A::kTerminate}},

    {S::kDraining, E::kNotServing, {S::kDraining, A::kNone}},
    {S::kDraining, E::kServing, {S::kDraining, A::kNone}},
    {S::kDraining, E::kOverdue, {S::kDraining, A::kKill}},
    {S::kDraining, E::kExited, {S::kStopped, A::kSettle}},
    {S::kDraining, E::kStop, {S::kDraining, A::kNone}},

    {S::kStopped, E::kStart, {S::kStarting, A::kSpawn}},
    {S::kStopped, E::kStop, {S::kStopped, A::kNone}},

    {S::kCrashed, E::kNotServing, {S::kCrashed, A::kNone}},
    {S::kCrashed, E::kServing, {S::kCrashed, A::kNone}},
    {S::kCrashed, E::kExited, {S::kCrashed, A::kDecideRestart}},
    {S::kCrashed, E::kRetry, {S::kBackoff, A::kArmRetry}},
    {S::kCrashed, E::kGiveUp, {S::kFailed, A::kSettle}},
    {S::kCrashed, E::kStop, {S::kDraining, A::kKill}},

    {S::kBackoff, E::kBackoffOver, {S::kStarting, A::kSpawn}},
    {S::kBackoff, E::kStart, {S::kStarting, A::kSpawn}},
    {S::kBackoff, E::kStop, {S::kStopped, A::kSettle}},

    {S::kFailed, E::kStart, {S::kStarting, A::kSpawn}},
    {S::kFailed, E::kStop, {S::kStopped, A::kSettle}},
};

constexpr std::array<std::string_view, 9> kStateNames = {"STARTING", "LOADING", "VERIFYING", "READY", "DRAINING",
                                                         "STOPPED",  "CRASHED", "BACKOFF",   "FAILED"};
constexpr std::array<std::string_view, 12> kEventNames = {"start",    "not serving", "serving",      "verified",
                                                          "rejected", "overdue",     "wedged",       "exited",
                                                          "retry",    "give up",     "backoff over", "stop"};

}  // namespace

std::optional<Transition> Next(WorkerState state, WorkerEvent event) {
  for (const Row& row : kTable) {
    if (row.state == state && row.event == event) return row.transition;
  }
  return std::nullopt;
}

std::string_view NameOf(WorkerState state) { return kStateNames[static_cast<size_t>(state)]; }
std::string_view NameOf(WorkerEvent event) { return kEventNames[static_cast<size_t>(event)]; }

bool HasProcess(WorkerState state) {
  return state != WorkerState::kStopped && state != WorkerState::kBackoff && state != WorkerState::kFailed;
}

bool IsSettled(WorkerState state) {
  return state == WorkerState::kReady || state == WorkerState::kStopped || state == WorkerState::kFailed;
}

}  // namespace inferd::daemon
