// The directory of the unix sockets: admin.sock, and w/ with one socket a worker.
//
//   ASSIGN_OR_RETURN(UniqueFd lock, PrepareRunDirectory("/run/inferd"));       // kept while the daemon runs
//   std::string path = WorkerSocketPath("/run/inferd", "chat", 1);     // /run/inferd/w/chat-1.sock
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/base/unique_fd.h"

namespace inferd::daemon {

// Makes what is missing (mode 0700), locks the directory for this process and removes worker sockets that a daemon
// which died has left.
//   ALREADY_EXISTS       another daemon runs there
//   FAILED_PRECONDITION  the path is no directory or belongs to another user
absl::StatusOr<UniqueFd> PrepareRunDirectory(const std::string& directory);

// Lets the members of a group use the socket, and pass through the directory if it lies in it. Nothing for "".
//   NOT_FOUND no such group; PERMISSION_DENIED the daemon's user is not a member
absl::Status OpenToGroup(const std::string& group, const std::string& directory, const std::string& socket_path);

// Group and mode of a file; its owner stays. The error begins with `what`.
absl::Status GiveToGroup(const std::string& path, gid_t group, mode_t mode, const std::string& what);

// Characters that a file name should not have are replaced and told apart by a digest; always fits a socket address.
std::string WorkerSocketPath(const std::string& directory, std::string_view model, uint64_t version);

}  // namespace inferd::daemon
