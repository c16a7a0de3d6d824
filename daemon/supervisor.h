// The daemon: holds the listening sockets, runs the gateway and the workers, answers operators, and ends everything in
// order. One thread, one loop; nothing in it blocks.
//
//   ASSIGN_OR_RETURN(auto supervisor, Supervisor::Create({.config_file = file, .programs = directory}, config));
//   _exit(supervisor->Run());            // until SIGTERM; the exit code
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace inferd::v1 {
class StatusResponse;
}

namespace inferd::daemon {

class Operations;
class RouteBoard;
class EventLoop;
class GatewayKeeper;
class CanaryWatch;
class OnDemand;

struct SupervisorOptions {
  std::string config_file;
  // Directory of inferd-worker and inferd-gateway.
  std::string programs;
  // Of the children's users, where the daemon is root (child_users.h); 0: none.
  uint32_t first_user = 0;
};

class Supervisor {
 public:
  // Opens the sockets, so that a port in use is an error before anything is started. Starts no thread.
  //   ALREADY_EXISTS  an address or the run directory is in use
  static absl::StatusOr<std::unique_ptr<Supervisor>> Create(const SupervisorOptions& options,
                                                            const config::Config& config);
  ~Supervisor();

  // Makes what Run runs: the admin service is there from now on. INVALID_ARGUMENT names the option at fault.
  absl::Status Build();

  // Starts everything and returns when everything has ended but the admin server, whose threads still use this object:
  // the process is to end without destroying it.
  int Run();

  // For the admin service, on the loop's thread.
  EventLoop& loop();
  Operations& operations();
  RouteBoard& routes();
  // Calls `then` once the gateways route by what the fleet is now. One that does not say so is not waited for long.
  void WhenRouted(std::function<void()> then);
  GatewayKeeper& gateway();
  OnDemand& on_demand();
  CanaryWatch& canaries();
  void FillStatus(v1::StatusResponse& status) const;
  // Reload, its result kept for the status; SIGHUP does the same.
  void Reload(bool dry_run, std::function<void(absl::StatusOr<std::vector<std::string>>)> done);
  // Weights by version. With a condition ("error_rate>0.05") they are taken back when it comes true within a window.
  absl::Status SetTraffic(const std::string& model, const std::map<uint64_t, uint32_t>& weights,
                          const std::string& rollback_on, Milliseconds window);
  Milliseconds drain() const;
  bool IsWorker(pid_t pid) const;
  // Whether children become other users than the daemon's.
  bool changes_users() const;

 private:
  struct Impl;
  explicit Supervisor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::daemon
