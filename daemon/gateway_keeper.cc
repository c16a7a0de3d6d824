#include "daemon/gateway_keeper.h"

#include <algorithm>

#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {

GatewayKeeper::GatewayKeeper(EventLoop& loop, Spawner& spawner, MakePlan make_plan, std::function<void()> on_change)
    : loop_(loop), spawner_(spawner), make_plan_(std::move(make_plan)), on_change_(std::move(on_change)) {}

std::unique_ptr<ManagedProcess> GatewayKeeper::Make() {
  return std::make_unique<ManagedProcess>(loop_, spawner_, make_plan_(), [this] {
    // Not at once: the process object is calling us.
    loop_.Post([this] { ForgetStopped(); });
    on_change_();
  });
}

void GatewayKeeper::ForgetStopped() {
  std::erase_if(draining_, [](const auto& process) { return process->state() == WorkerState::kStopped; });
}

void GatewayKeeper::Start() {
  current_ = Make();
  current_->Start();
}

void GatewayKeeper::Replace(Milliseconds drain) {
  draining_.push_back(std::move(current_));
  Start();
  draining_.back()->Stop(drain);
}

bool GatewayKeeper::OnExit(pid_t pid, int wait_status) {
  if (current_ != nullptr && current_->pid() == pid) {
    current_->OnExit(wait_status);
    return true;
  }
  for (const auto& process : draining_) {
    if (process->pid() != pid) continue;
    process->OnExit(wait_status);
    return true;
  }
  return false;
}

void GatewayKeeper::StopAll(Milliseconds drain) {
  if (current_ != nullptr) current_->Stop(drain);
  for (const auto& process : draining_) process->Stop(drain);
}

void GatewayKeeper::KillAll() {
  if (current_ != nullptr) current_->Kill();
  for (const auto& process : draining_) process->Kill();
}

bool GatewayKeeper::AnyProcess() const {
  if (current_ != nullptr && current_->pid() > 0) return true;
  return std::any_of(draining_.begin(), draining_.end(), [](const auto& process) { return process->pid() > 0; });
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
