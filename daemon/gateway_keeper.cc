#include "daemon/gateway_keeper.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "config/base/status.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

// Starts of a new gateway beside one that serves before it is given up.
constexpr uint32_t kReplacementStarts = 3;

}  // namespace

GatewayKeeper::GatewayKeeper(EventLoop& loop, Spawner& spawner, MakePlan make_plan, std::function<void()> on_change)
    : loop_(loop), spawner_(spawner), make_plan_(std::move(make_plan)), on_change_(std::move(on_change)) {}

std::unique_ptr<ManagedProcess> GatewayKeeper::Make() {
  return std::make_unique<ManagedProcess>(loop_, spawner_, make_plan_(), [this] {
    // Not at once: the process object is calling us.
    loop_.Post([this] { Settle(); });
    on_change_();
  });
}

void GatewayKeeper::Settle() {
  std::erase_if(draining_, [](const auto& process) { return process->state() == WorkerState::kStopped; });
  if (replacement_) SettleReplacement();
}

void GatewayKeeper::SettleReplacement() {
  const WorkerState state = replacement_->process->state();
  const bool ready = state == WorkerState::kReady;
  const bool spent = state == WorkerState::kBackoff && replacement_->process->restarts() >= kReplacementStarts;
  const bool failed = spent || state == WorkerState::kFailed || state == WorkerState::kStopped;
  if (!ready && !failed) return;
  Replacement settled = *std::move(replacement_);
  replacement_.reset();
  if (failed) return settled.done(FailedPrecondition("gateway: {}", settled.process->last_error()));
  draining_.push_back(std::exchange(current_, std::move(settled.process)));
  draining_.back()->Stop(settled.drain);
  settled.done(absl::OkStatus());
}

void GatewayKeeper::Start() {
  current_ = Make();
  current_->Start();
}

void GatewayKeeper::Replace(Milliseconds drain, std::function<void(absl::Status)> done) {
  replacement_ = {.process = Make(), .drain = drain, .done = std::move(done)};
  replacement_->process->Start();
}

std::vector<ManagedProcess*> GatewayKeeper::All() const {
  std::vector<ManagedProcess*> all;
  if (current_ != nullptr) all.push_back(current_.get());
  if (replacement_) all.push_back(replacement_->process.get());
  for (const auto& process : draining_) all.push_back(process.get());
  return all;
}

bool GatewayKeeper::Has(pid_t pid) const {
  const std::vector<ManagedProcess*> all = All();
  return pid > 0 && std::any_of(all.begin(), all.end(), [pid](const auto* process) { return process->pid() == pid; });
}

bool GatewayKeeper::OnExit(pid_t pid, int wait_status) {
  for (ManagedProcess* process : All()) {
    if (process->pid() != pid) continue;
    process->OnExit(wait_status);
    return true;
  }
  return false;
}

void GatewayKeeper::StopAll(Milliseconds drain) {
  if (replacement_) {
    draining_.push_back(std::move(replacement_->process));
    const auto done = std::move(replacement_->done);
    replacement_.reset();
    done(Unavailable("the daemon is shutting down"));
  }
  for (ManagedProcess* process : All()) {
    if (process->pid() > 0) spawner_.Signal(process->pid(), SIGUSR2);
    process->Stop(drain);
  }
}

void GatewayKeeper::SetOptions(const config::SupervisorOptions& options) {
  for (ManagedProcess* process : All()) process->SetOptions(options);
}

void GatewayKeeper::KillAll() {
  for (ManagedProcess* process : All()) process->Kill();
}

bool GatewayKeeper::AnyProcess() const {
  const std::vector<ManagedProcess*> all = All();
  return std::any_of(all.begin(), all.end(), [](const ManagedProcess* process) { return process->pid() > 0; });
}

WorkerState GatewayKeeper::state() const { return current_ == nullptr ? WorkerState::kStopped : current_->state(); }

void GatewayKeeper::FillStatus(v1::GatewayStatus& status) const {
  status.set_state(std::string(NameOf(state())));
  if (current_ == nullptr) return;
  status.set_pid(std::max(0, current_->pid()));
  status.set_restarts(current_->restarts());
  status.set_last_error(current_->last_error());
}

}  // namespace inferd::daemon
