// The gRPC service Admin on the supervisor's unix socket (with health and reflection). gRPC's threads only pass calls
// to the loop, where they are answered.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

namespace inferd::daemon {

class Supervisor;

class AdminServer {
 public:
  // Accepts connections on `listening_fd` (which stays the caller's) on the supervisor's loop.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Supervisor& supervisor, int listening_fd);
  // Only when no call is left: a stream of routes lives on the loop. A daemon that ends lets the kernel close them.
  ~AdminServer();

 private:
  struct Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::daemon
