// Who may speak on the admin socket, beside what the socket's mode says: a captured worker runs as the daemon's user,
// and must not swap models.
//
//   ASSIGN_OR_RETURN(const Peer peer, PeerOf(connection.get()));
//   RETURN_IF_ERROR(CheckPeer(peer, {.owner = geteuid(), .is_worker = ..., .is_gateway = ...}));
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inferd::daemon {

// Of the process that connected, as the kernel knows it (SO_PEERCRED, SO_PEERGROUPS).
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

struct PeerRule {
  uid_t owner = 0;             // the daemon's user
  std::optional<gid_t> group;  // of listen.admin_group
  std::function<bool(pid_t)> is_worker, is_gateway;
};

absl::StatusOr<Peer> PeerOf(int connection);

// PERMISSION_DENIED for workers, and for users that are neither root, nor the daemon's, nor of the group; the gateway
// may have a user of its own.
absl::Status CheckPeer(const Peer& peer, const PeerRule& rule);

// Of listen.admin_group; nullopt for "" and for a group that does not exist.
std::optional<gid_t> GroupNamed(const std::string& name);

}  // namespace inferd::daemon
