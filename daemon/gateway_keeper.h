// The gateway's processes: the one that serves, the next one until it is ready, and former ones that finish their
// streams. All share the listening sockets that the supervisor holds, so that no connection is refused in between.
//
//   GatewayKeeper gateway(loop, spawner, make_plan, [&] { PublishStatus(); });
//   gateway.Start();
//   gateway.Replace(drain, [](absl::Status replaced) { ... });   // e.g. the program was updated
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/managed_process.h"

namespace inferd::v1 {
class GatewayStatus;
}

namespace inferd::daemon {

class GatewayKeeper {
 public:
  using MakePlan = std::function<ProcessPlan()>;

  GatewayKeeper(EventLoop& loop, Spawner& spawner, MakePlan make_plan, std::function<void()> on_change);

  void Start();
  // Starts a new one, with a new plan. When it is ready, the present one finishes its requests until `drain`. One that
  // crashes is started again a few times; if it fails, the present one goes on and `done` is told why. To be called
  // again only after `done`.
  void Replace(Milliseconds drain, std::function<void(absl::Status)> done);

  // Of the processes that are there.
  void SetOptions(const config::SupervisorOptions& options);

  // False if none has this process.
  bool OnExit(pid_t pid, int wait_status);
  // Whether the process is one of the gateways, also of those that come or go.
  bool Has(pid_t pid) const;
  // Because the daemon ends: they refuse what is new while they finish what runs, since nobody takes their place.
  void StopAll(Milliseconds drain);
  void KillAll();
  bool AnyProcess() const;
  WorkerState state() const;
  // Of the one that serves; -1 while there is none.
  pid_t pid() const { return current_ == nullptr ? -1 : current_->pid(); }
  // What the one that serves was started from.
  FileIdentity program() const { return current_ == nullptr ? FileIdentity() : current_->program(); }
  void FillStatus(v1::GatewayStatus& status) const;

 private:
  std::unique_ptr<ManagedProcess> Make();
  std::vector<ManagedProcess*> All() const;
  void Settle();
  void SettleReplacement();

  EventLoop& loop_;
  Spawner& spawner_;
  const MakePlan make_plan_;
  const std::function<void()> on_change_;
  std::unique_ptr<ManagedProcess> current_;
  struct Replacement {
    std::unique_ptr<ManagedProcess> process;
    Milliseconds drain{0};
    std::function<void(absl::Status)> done;
  };
  std::optional<Replacement> replacement_;
  std::vector<std::unique_ptr<ManagedProcess>> draining_;
};

}  // namespace inferd::daemon
