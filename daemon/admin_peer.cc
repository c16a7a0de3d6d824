#include "daemon/admin_peer.h"

#include <grp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "config/base/status.h"

namespace inferd::daemon {

absl::StatusOr<Peer> PeerOf(int connection) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return FromErrno(errno, "SO_PEERCRED");
  }
  Peer peer{.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
  socklen_t bytes = 0;
  // The first call tells how many there are.
  if (getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, nullptr, &bytes) != 0 && errno != ERANGE) {
    return FromErrno(errno, "SO_PEERGROUPS");
  }
  peer.groups.resize(bytes / sizeof(gid_t));
  if (bytes > 0 && getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &bytes) != 0) {
    return FromErrno(errno, "SO_PEERGROUPS");
  }
  return peer;
}

absl::Status CheckPeer(const Peer& peer, const PeerRule& rule) {
  if (rule.is_worker(peer.pid)) return PermissionDenied("process {} is a worker", peer.pid);
  if (peer.uid == 0 || peer.uid == rule.owner || rule.is_gateway(peer.pid)) return absl::OkStatus();
  const auto in_group = [&](gid_t group) {
    return peer.gid == group || std::find(peer.groups.begin(), peer.groups.end(), group) != peer.groups.end();
  };
  if (rule.group && in_group(*rule.group)) return absl::OkStatus();
  return PermissionDenied("user {} is neither root, nor user {}, nor of listen.admin_group", peer.uid, rule.owner);
}

std::optional<gid_t> GroupNamed(const std::string& name) {
  std::vector<char> buffer(size_t{1} << 16);
  ::group entry{};
  ::group* found = nullptr;
  if (name.empty() || getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0) return std::nullopt;
  if (found == nullptr) return std::nullopt;
  return found->gr_gid;
}

}  // namespace inferd::daemon
