// The whole gateway: listening sockets, routes, endpoints and metrics, wired together.
//
//   ASSIGN_OR_RETURN(auto gateway, Gateway::Start(config, {.http = std::move(fd), .admin =
//   "unix:/run/.../admin.sock"}));
//   ...
//   bool drained = gateway->Drain(std::chrono::seconds(30));
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "config/base/unique_fd.h"

namespace inferd::config {
struct Config;
}

namespace inferd::gateway {

struct GatewaySockets {
  // Listening stream sockets, inherited or our own.
  UniqueFd http;
  UniqueFd grpc;
  // gRPC target of the supervisor.
  std::string admin;
  // Further name under which gRPC's health service shows this process once it has routes; empty: none.
  std::string health_name;
};

class Gateway {
 public:
  static absl::StatusOr<std::unique_ptr<Gateway>> Start(const config::Config& config, GatewaySockets sockets);
  // After a Drain() that returned true; otherwise requests still run and the process has to exit.
  ~Gateway();

  // Nobody takes this gateway's place: until Drain() is through, new requests are answered with UNAVAILABLE (503).
  void RefuseNewRequests();

  // Waits for the requests that run and accepts nothing new: another gateway does on the same listening sockets, or,
  // after RefuseNewRequests(), nobody. Those that outlast the time are ended with UNAVAILABLE and get a moment more to
  // hear of it. True if all ended in time.
  bool Drain(std::chrono::milliseconds longest);

 private:
  std::chrono::milliseconds EndRequests();

  struct Parts;
  explicit Gateway(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace inferd::gateway
