// The gateway's processes: the one that serves, and former ones that finish their streams. All share the listening
// sockets that the supervisor holds, so that no connection is refused in between.
#pragma once

#include <functional>
#include <memory>
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
  // Starts a new one, with a new plan, and lets the present one finish its requests until `drain`.
  void Replace(Milliseconds drain);

  // False if none has this process.
  bool OnExit(pid_t pid, int wait_status);
  void StopAll(Milliseconds drain);
  void KillAll();
  bool AnyProcess() const;
  WorkerState state() const;
  void FillStatus(v1::GatewayStatus& status) const;

 private:
  std::unique_ptr<ManagedProcess> Make();
  void ForgetStopped();

  EventLoop& loop_;
  Spawner& spawner_;
  const MakePlan make_plan_;
  const std::function<void()> on_change_;
  std::unique_ptr<ManagedProcess> current_;
  std::vector<std::unique_ptr<ManagedProcess>> draining_;
};

}  // namespace inferd::daemon
