// inferd-gateway: speaks HTTP and gRPC to clients, and to the workers that the supervisor names.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "config/base/address.h"
#include "config/base/child_process.h"
#include "config/base/command_line.h"
#include "config/base/log.h"
#include "config/base/status.h"
#include "config/load.h"
#include "config/sandbox/system_calls.h"
#include "gateway/confine.h"
#include "gateway/gateway.h"
#include "proto/grpc_log.h"

namespace inferd::gateway {
namespace {

struct Flags {
  std::string config = "/etc/inferd/inferd.yaml";
  std::string admin;
  std::string health_name;
  int http_fd = -1;
  int grpc_fd = -1;
  bool sandbox = true;
  uint32_t user = 0;          // to become; 0: none
  std::vector<gid_t> groups;  // beside the group of the same number
  ChildDescriptors child;
};

absl::StatusOr<UniqueFd> ListeningSocket(std::string_view flag, int inherited, const Address& address) {
  if (inherited < 0) return Listen(address);
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(inherited, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) {
    return FromErrno(errno, fmt::format("{} {}", flag, inherited));
  }
  if (listens == 0) return InvalidArgument("{} {}: is a socket that does not listen", flag, inherited);
  return UniqueFd(inherited);
}

absl::StatusOr<GatewaySockets> OpenSockets(const Flags& flags, const config::Config& config) {
  GatewaySockets sockets;
  ASSIGN_OR_RETURN(sockets.http, ListeningSocket("--http-fd", flags.http_fd, config.listen.http));
  ASSIGN_OR_RETURN(sockets.grpc, ListeningSocket("--grpc-fd", flags.grpc_fd, config.listen.grpc));
  sockets.health_name = flags.health_name;
  sockets.admin = flags.admin.empty() ? config.listen.admin.ToString() : flags.admin;
  LogInfo("listening", {{"http", BoundAddress(sockets.http.get()).ToString()},
                        {"grpc", BoundAddress(sockets.grpc.get()).ToString()}});
  return sockets;
}

absl::StatusOr<Confinement> GiveUp(const Flags& flags, const config::Config& config) {
  if (!flags.sandbox) return Confinement();
  return Confine({.user = flags.user,
                  .groups = flags.groups,
                  .tcp_listen = flags.http_fd < 0 || flags.grpc_fd < 0,
                  .tcp_connect = !flags.admin.empty() && !flags.admin.starts_with("unix:")},
                 config);
}

int Fail(const ChildProcess* child, const absl::Status& status, int exit_code) {
  LogError("the gateway cannot start", {{"reason", MessageOf(status)}});
  if (child != nullptr) child->Report(status);
  StopLog();
  return exit_code;
}

int Run(const Flags& flags) {
  absl::StatusOr<config::Config> config = config::LoadConfig(flags.config);
  if (!config.ok()) {
    StartLog({.process = "inferd-gateway"});
    return Fail(nullptr, config.status(), kExitUsage);
  }
  const absl::StatusOr<Confinement> confined = GiveUp(flags, *config);
  absl::Notification stop;
  std::atomic<bool> daemon_ends{false};
  auto child = ChildProcess::Start(
      flags.child, [&](int) { stop.Notify(); }, [&] { daemon_ends = true; });
  StartLog({.process = "inferd-gateway", .level = config->log.level, .format = config->log.format});
  TakeOverGrpcLog();
  if (!child.ok()) return Fail(nullptr, child.status(), kExitFailed);
  if (!confined.ok()) return Fail(child->get(), confined.status(), kExitFailed);
  LogInfo("sandbox", {{"enabled", flags.sandbox}, {"landlock_abi", confined->landlock_abi}, {"user", geteuid()}});
  if (!confined->no_user.empty()) LogWarning("the gateway keeps the daemon's user", {{"reason", confined->no_user}});
  absl::StatusOr<GatewaySockets> sockets = OpenSockets(flags, *config);
  if (!sockets.ok()) return Fail(child->get(), sockets.status(), kExitFailed);
  const absl::Status limited = flags.sandbox ? sandbox::LimitSystemCalls(sandbox::Stage::kGateway) : absl::OkStatus();
  if (!limited.ok()) return Fail(child->get(), limited, kExitFailed);
  absl::StatusOr<std::unique_ptr<Gateway>> gateway = Gateway::Start(*config, *std::move(sockets));
  if (!gateway.ok()) return Fail(child->get(), gateway.status(), kExitUsage);

  stop.WaitForNotification();
  LogInfo("draining", {{"daemon_ends", daemon_ends.load()}});
  if (daemon_ends) (*gateway)->RefuseNewRequests();
  bool drained = (*gateway)->Drain((*child)->DrainTime(config->supervisor.drain));
  LogInfo("stopped", {{"drained", drained}});
  if (drained) gateway->reset();
  StopLog();
  // Requests that outlasted the drain still run on threads that use what a return would destroy.
  _exit(kExitDone);
}

}  // namespace
}  // namespace inferd::gateway

int main(int argc, char** argv) {
  inferd::gateway::Flags flags;
  CLI::App app("Serves the HTTP and gRPC interfaces of inferd; started by the supervisor.", "inferd-gateway");
  app.add_option("--config", flags.config, "configuration file (YAML)")->capture_default_str();
  app.add_option("--admin", flags.admin, "gRPC target of the supervisor; default: listen.admin");
  app.add_option("--health-name", flags.health_name, "further name that the gRPC health service knows this process by");
  app.add_option("--http-fd", flags.http_fd, "listening socket for HTTP to use instead of opening one");
  app.add_option("--grpc-fd", flags.grpc_fd, "listening socket for gRPC to use instead of opening one");
  app.add_option("--user", flags.user, "number of the user and group to become before anything is read");
  app.add_option("--group", flags.groups, "number of a group to be a member of then");
  app.add_flag("--sandbox,!--no-sandbox", flags.sandbox, "give up files, programs and code (not under a debugger)");
  app.add_option("--lifeline-fd", flags.child.lifeline_fd, "pipe whose end means that the supervisor is gone");
  app.add_option("--report-fd", flags.child.report_fd, "pipe for the reason of a failure");
  if (std::optional<int> exit_code = inferd::ParseCommandLine(app, argc, argv)) return *exit_code;
  return inferd::gateway::Run(flags);
}
