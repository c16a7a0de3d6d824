#include "daemon/child_users.h"

#include <unistd.h>

#include "config/base/status.h"
#include "config/sandbox/user.h"
#include "daemon/admin_peer.h"
#include "daemon/run_directory.h"

namespace inferd::daemon {
namespace {

constexpr uint32_t kWorkers = 500;

absl::Status GiveTo(const std::string& path, gid_t group, mode_t mode) {
  return GiveToGroup(path, group, mode, fmt::format("{} for group {}", path, group));
}

}  // namespace

ChildUsers ChildUsers::Choose(uint32_t first, const std::string& admin_group) {
  ChildUsers none;
  if (geteuid() != 0) return none;
  if (first == 0) {
    none.why_ = "--first-user is 0";
    return none;
  }
  for (const uint32_t user : {first, first + 1 + kWorkers}) {
    if (const absl::Status status = sandbox::CanBecome(user); !status.ok()) {
      none.why_ = MessageOf(status);
      return none;
    }
  }
  return ChildUsers(first, GroupNamed(admin_group));
}

uint32_t ChildUsers::ForWorker(const std::function<bool(uint32_t)>& taken) const {
  if (first_ == 0) return 0;
  const uint32_t last = first_ + 1 + kWorkers;
  uint32_t user = first_ + 2;
  while (user < last && taken(user)) ++user;
  return user;
}

absl::Status OpenToGateway(const ChildUsers& users, const config::Config& config) {
  if (!users) return absl::OkStatus();
  RETURN_IF_ERROR(GiveTo(config.run_directory + "/w", users.gateway(), 0710));
  if (users.operators())
    return absl::OkStatus();  // who have the directory and the socket, and the gateway is one of them
  RETURN_IF_ERROR(GiveTo(config.run_directory, users.gateway(), 0710));
  return GiveTo(config.listen.admin.path, users.gateway(), 0660);
}

}  // namespace inferd::daemon
