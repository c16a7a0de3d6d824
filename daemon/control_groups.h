// Control groups (version 2) for workers with a memory limit, where the service manager has delegated our own group to
// us (Delegate=memory in systemd): the kernel then counts all that a worker uses, and ends nobody else for it.
//
//   ASSIGN_OR_RETURN(auto groups, ControlGroups::Create());
//   ASSIGN_OR_RETURN(UniqueFd procs, groups->Open("worker-chat-1", limit_bytes));
//   ...  in the child: write(procs.get(), "0", 1);           // joins
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "config/base/unique_fd.h"
#include "daemon/memory.h"

namespace inferd::daemon {

class ControlGroups {
 public:
  // Moves this process, which must not have children yet, into a group below its present one: only groups without
  // processes of their own can bound those below them.
  //   FAILED_PRECONDITION: there is no such hierarchy, or it does not control memory; else as the system says (it is
  //   not ours to change). Then everything is as before.
  static absl::StatusOr<std::unique_ptr<ControlGroups>> Create(const KernelFolders& folders = {});
  // Removes what is empty.
  ~ControlGroups();
  ControlGroups(const ControlGroups&) = delete;

  // Makes the group, or gives it a new limit. The descriptor is its cgroup.procs.
  absl::StatusOr<UniqueFd> Open(const std::string& name, uint64_t memory_bytes);

 private:
  explicit ControlGroups(std::string folder) : folder_(std::move(folder)) {}
  void RemoveEmpty(const std::string& but);

  const std::string folder_;  // of the group that was ours
  std::set<std::string> opened_;
};

}  // namespace inferd::daemon
