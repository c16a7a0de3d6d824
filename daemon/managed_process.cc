#include "daemon/managed_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include "config/base/child_process.h"
#include "config/base/log.h"
#include "config/base/status.h"

namespace inferd::daemon {
namespace {

// Beyond the drain deadline, at which the process ends its requests itself.
constexpr Milliseconds kGoodbye{2000};
constexpr Milliseconds kMaxPollInterval{1000};

}  // namespace

std::string_view NameOf(ExitCause cause) {
  constexpr std::array<std::string_view, 10> kNames = {"",        "exit",  "signal",   "out_of_memory", "memory_limit",
                                                       "refused", "error", "watchdog", "load_timeout",  "not_started"};
  return kNames[static_cast<size_t>(cause)];
}

ExitMeaning DescribeExit(int wait_status, bool out_of_memory) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    if (signal == SIGKILL && out_of_memory) return {ExitCause::kOutOfMemory, "killed by the kernel: out of memory"};
    return {ExitCause::kSignal, fmt::format("killed by signal {} ({})", signal, strsignal(signal))};
  }
  const int code = WEXITSTATUS(wait_status);
  switch (code) {
    case kExitDone:
      return {ExitCause::kExited, "exited by itself"};
    case kExitUsage:
      return {ExitCause::kError, "exited with code 2: wrong usage or configuration"};
    case kExitRefused:
      return {ExitCause::kRefused, "exited with code 3: model refused"};
    case kExitOutOfMemory:
      return {ExitCause::kMemoryLimit, "exited with code 4: out of memory (memory_limit, or the machine has no more)"};
    case kExitNotExecuted:
      return {ExitCause::kNotStarted, "exited with code 127: the program cannot be executed"};
    default:
      return {ExitCause::kError, fmt::format("exited with code {}", code)};
  }
}

ManagedProcess::ManagedProcess(EventLoop& loop, Spawner& spawner, ProcessPlan plan, std::function<void()> on_change)
    : loop_(loop),
      spawner_(spawner),
      plan_(std::move(plan)),
      on_change_(std::move(on_change)),
      backoff_(plan_.options.restart, plan_.random),
      state_since_(loop.clock().WallNow()) {}

ManagedProcess::~ManagedProcess() {
  loop_.Cancel(deadline_timer_);
  loop_.Cancel(poll_timer_);
}

void ManagedProcess::Start(Haste haste) {
  if (state_ == WorkerState::kBackoff || state_ == WorkerState::kFailed || state_ == WorkerState::kStopped) {
    backoff_.Reset();
    haste_ = haste;
    Handle(WorkerEvent::kStart);
  }
}

void ManagedProcess::Stop(Milliseconds deadline) {
  drain_ = deadline;
  Handle(WorkerEvent::kStop);
}

void ManagedProcess::Kill() {
  Stop(Milliseconds(0));
  if (pid_ > 0) spawner_.Signal(pid_, SIGKILL);
}

void ManagedProcess::SetOptions(const config::SupervisorOptions& options) {
  plan_.options = options;
  backoff_.SetOptions(options.restart);
  if (watchdog_) watchdog_->SetLimit(options.watchdog);
}

bool ManagedProcess::Ask() {
  if (probe_ == nullptr) return false;
  probe_->Ask(++asked_);
  return true;
}

void ManagedProcess::OnExit(int wait_status) {
  ExitMeaning meaning = DescribeExit(wait_status, plan_.out_of_memory_kills() > oom_kills_before_);
  if (const absl::Status report = ReadReport(report_pipe_); !report.ok()) meaning.text = MessageOf(report);
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  if (code == kExitRefused || code == kExitUsage) hopeless_ = true;
  SetCause(meaning.cause, std::move(meaning.text));
  pid_ = -1;
  probe_.reset();
  watchdog_.reset();
  report_pipe_.Reset();
  Handle(WorkerEvent::kExited);
}

Milliseconds ManagedProcess::backoff_left() const {
  if (state_ != WorkerState::kBackoff) return Milliseconds(0);
  return std::max(Milliseconds(0), std::chrono::ceil<Milliseconds>(retry_at_ - loop_.clock().Now()));
}

void ManagedProcess::SetCause(ExitCause cause, std::string text) {
  if (cause_.cause == ExitCause::kNone) cause_ = {cause, std::move(text)};
}

void ManagedProcess::Handle(WorkerEvent event) {
  const std::optional<Transition> transition = Next(state_, event);
  if (!transition) {
    LogError("event cannot happen in this state",
             {{"child", plan_.name}, {"state", NameOf(state_)}, {"event", NameOf(event)}});
    return;
  }
  const bool changed = transition->next != state_;
  if (changed) {
    LogDebug(
        "state",
        {{"child", plan_.name}, {"from", NameOf(state_)}, {"to", NameOf(transition->next)}, {"event", NameOf(event)}});
    state_ = transition->next;
    state_since_ = loop_.clock().WallNow();
  }
  Perform(transition->action);
  if (changed) on_change_();
}

void ManagedProcess::Perform(WorkerAction action) {
  switch (action) {
    case WorkerAction::kNone:
      return;
    case WorkerAction::kSpawn:
      return Spawn();
    case WorkerAction::kVerify:
      verification_ = ++asked_;
      return probe_->Ask(asked_);
    case WorkerAction::kAnnounce: {
      loop_.Cancel(deadline_timer_);
      ready_after_ = std::chrono::ceil<Milliseconds>(loop_.clock().Now() - spawned_at_);
      watchdog_.emplace(plan_.options.watchdog, loop_.clock().Now());
      LogInfo("ready", {{"child", plan_.name}, {"pid", pid_}, {"ready_after_ms", ready_after_.count()}});
      return;
    }
    case WorkerAction::kKill:
      if (pid_ > 0) spawner_.Signal(pid_, SIGKILL);
      return;
    case WorkerAction::kDecideRestart:
      return DecideRestart();
    case WorkerAction::kArmRetry:
      deadline_timer_ = loop_.RunAfter(backoff_left(), [this] { Handle(WorkerEvent::kBackoffOver); });
      return;
    case WorkerAction::kTerminate:
      return Terminate();
    case WorkerAction::kSettle:
      return Settle();
  }
}

void ManagedProcess::Spawn() {
  loop_.Cancel(deadline_timer_);
  cause_ = {ExitCause::kNone, ""};
  hopeless_ = false;
  ready_after_ = Milliseconds(0);
  report_.load_progress = 0;
  oom_kills_before_ = plan_.out_of_memory_kills();
  spawned_at_ = loop_.clock().Now();
  ProcessSpec spec = plan_.spec;
  if (std::exchange(haste_, Haste::kFull) == Haste::kQuietly) {
    spec.arguments.insert(spec.arguments.end(), plan_.quiet_arguments.begin(), plan_.quiet_arguments.end());
  }
  program_ = IdentifyFile(spec.program).value_or(FileIdentity());
  absl::StatusOr<Spawned> spawned = spawner_.Spawn(spec);
  if (!spawned.ok()) {
    SetCause(ExitCause::kNotStarted, fmt::format("cannot be started: {}", MessageOf(spawned.status())));
    loop_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      // A Stop may have come in between.
      const bool waits = state_ == WorkerState::kStarting || state_ == WorkerState::kDraining;
      if (pid_ < 0 && waits) Handle(WorkerEvent::kExited);
    });
    return;
  }
  pid_ = spawned->pid;
  report_pipe_ = std::move(spawned->report);
  LogInfo("started", {{"child", plan_.name}, {"pid", pid_}});
  probe_ = plan_.probe({.on_health = [this](bool serving) { OnHealth(serving); },
                        .on_report = [this](const WorkerReport& report) { OnReport(report); }});
  ArmDeadline(plan_.options.load_timeout);
  if (plan_.watch_progress) Poll();
}

void ManagedProcess::ArmDeadline(Milliseconds delay) {
  loop_.Cancel(deadline_timer_);
  deadline_timer_ = loop_.RunAfter(delay, [this] {
    if (state_ != WorkerState::kDraining) {
      SetCause(ExitCause::kLoadTimeout, fmt::format("not ready after {} ms", plan_.options.load_timeout.count()));
    }
    Handle(WorkerEvent::kOverdue);
  });
}

void ManagedProcess::Terminate() {
  if (probe_ != nullptr) probe_->StopWatching();
  if (pid_ > 0) spawner_.Terminate(pid_, drain_);
  ArmDeadline(drain_ + kGoodbye);
}

void ManagedProcess::DecideRestart() {
  loop_.Cancel(deadline_timer_);
  loop_.Cancel(poll_timer_);
  last_error_ = cause_.text;
  last_exit_ = cause_.cause;
  ++exits_[last_exit_];
  const std::optional<Milliseconds> wait = hopeless_ ? std::nullopt : backoff_.AfterCrash(loop_.clock().Now());
  if (!wait) {
    LogError("failed",
             {{"child", plan_.name}, {"cause", NameOf(last_exit_)}, {"reason", last_error_}, {"restarts", restarts_}});
    return Handle(WorkerEvent::kGiveUp);
  }
  ++restarts_;
  retry_at_ = loop_.clock().Now() + *wait;
  LogWarning(
      "crashed, restarting",
      {{"child", plan_.name}, {"cause", NameOf(last_exit_)}, {"reason", last_error_}, {"wait_ms", wait->count()}});
  Handle(WorkerEvent::kRetry);
}

void ManagedProcess::Settle() {
  loop_.Cancel(deadline_timer_);
  loop_.Cancel(poll_timer_);
  if (state_ == WorkerState::kStopped) LogInfo("stopped", {{"child", plan_.name}, {"reason", cause_.text}});
}

void ManagedProcess::OnHealth(bool serving) { Handle(serving ? WorkerEvent::kServing : WorkerEvent::kNotServing); }

void ManagedProcess::OnReport(const WorkerReport& report) {
  report_ = report;
  reported_at_ = loop_.clock().Now();
  if (watchdog_) watchdog_->Answered(loop_.clock().Now(), report.progress, report.requests > 0);
  // An answer to an earlier question may be of the time before the model was loaded.
  if (state_ != WorkerState::kVerifying || report.number < verification_) return;
  const absl::Status verified = plan_.verify ? plan_.verify(report) : absl::OkStatus();
  if (verified.ok()) return Handle(WorkerEvent::kVerified);
  hopeless_ = true;
  SetCause(ExitCause::kRefused, std::string(MessageOf(verified)));
  Handle(WorkerEvent::kRejected);
}

// Runs while there is a process: asks it, and ends it if it stopped making progress.
void ManagedProcess::Poll() {
  poll_timer_ = loop_.RunAfter(std::min(kMaxPollInterval, plan_.options.watchdog / 5), [this] { Poll(); });
  Ask();
  // Kills of others in the past say nothing of an end to come.
  oom_kills_before_ = plan_.out_of_memory_kills();
  if (state_ != WorkerState::kReady || !watchdog_) return;
  if (std::optional<std::string> reason = watchdog_->Expired(loop_.clock().Now())) {
    SetCause(ExitCause::kWatchdog, "killed by the watchdog: " + *reason);
    watchdog_.reset();
    Handle(WorkerEvent::kWedged);
  }
}

}  // namespace inferd::daemon
