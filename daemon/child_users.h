// The users that children run as where the daemon is root: one for the gateway, one for checks, one for each worker.
// They need no entry in /etc/passwd, and own nothing.
//
//   const ChildUsers users = ChildUsers::Choose(60600, group);      // before any thread
//   PlanWorker(..., users, users.ForWorker([&](uint32_t user) { return fleet.HasUser(user); }));
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "config/config.h"

namespace inferd::daemon {

// In the range that systemd's own allocations leave free.
inline constexpr uint32_t kFirstUser = 60600;

class ChildUsers {
 public:
  // All children run as the daemon's user.
  ChildUsers() = default;
  // From number `first` on. `operators`: the group of listen.admin_group.
  explicit ChildUsers(uint32_t first, std::optional<gid_t> operators = std::nullopt)
      : first_(first), operators_(operators) {}

  // From `first` on where this process is root and may become others; else none, and why() says so. 0: none are wanted.
  static ChildUsers Choose(uint32_t first, const std::string& admin_group);

  explicit operator bool() const { return first_ != 0; }
  // Also the group that may use the sockets of workers. 0 without users of their own, and so with the others.
  uint32_t gateway() const { return first_; }
  uint32_t check() const { return first_ == 0 ? 0 : first_ + 1; }
  // The lowest that is not `taken`; the last one where all are.
  uint32_t ForWorker(const std::function<bool(uint32_t)>& taken) const;
  // That the gateway is a member of, to reach the admin socket.
  std::optional<gid_t> operators() const { return first_ == 0 ? std::nullopt : operators_; }
  // Why a daemon that is root has no users for its children; empty if it has, or is not root.
  const std::string& why() const { return why_; }

 private:
  uint32_t first_ = 0;
  std::optional<gid_t> operators_;
  std::string why_;
};

// Lets the gateway through the run directory, to the sockets in it: they belong to its group, or to that of
// listen.admin_group.
absl::Status OpenToGateway(const ChildUsers& users, const config::Config& config);

}  // namespace inferd::daemon
