// The gRPC service Admin on the supervisor's unix socket (with health and reflection), and for other machines on TCP
// with certificates on both sides. gRPC's threads only pass calls to the loop, where they are answered.
//
//   ASSIGN_OR_RETURN(auto server, AdminServer::Start(supervisor, listening_fd, config));
#pragma once

#include <memory>

#include "absl/status/statusor.h"

namespace inferd::config {
struct Config;
}

namespace inferd::daemon {

class Supervisor;

class AdminServer {
 public:
  // Accepts connections on `listening_fd` (which stays the caller's) on the supervisor's loop, and on listen.admin_tcp
  // if that is set.
  //   INVALID_ARGUMENT names a file of admin_tls; ALREADY_EXISTS listen.admin_tcp is in use
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Supervisor& supervisor, int listening_fd,
                                                            const config::Config& config);
  // Only when no call is left: a stream of routes lives on the loop. A daemon that ends lets the kernel close them.
  ~AdminServer();

 private:
  struct Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::daemon
