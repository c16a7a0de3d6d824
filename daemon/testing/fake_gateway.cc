// Stands in for inferd-gateway in tests of the supervisor: answers health on the inherited gRPC socket, and each HTTP
// connection with its process id. Refuses a keys file of the name refused.keys; with one of the name crash.keys it dies
// of its first start.
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "config/base/child_process.h"
#include "config/base/command_line.h"
#include "config/base/status.h"
#include "config/base/unique_fd.h"
#include "inferd/v1/inference.grpc.pb.h"

namespace inferd::daemon {
namespace {

UniqueFd Accept(int fd) { return UniqueFd(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)); }

void Serve(int http_fd, int grpc_fd, int stop_fd, grpc::Server& server) {
  for (;;) {
    pollfd entries[] = {{http_fd, POLLIN, 0}, {grpc_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
    if (poll(entries, std::size(entries), -1) < 0) continue;
    if (entries[2].revents != 0) return;
    if (entries[1].revents != 0) {
      if (UniqueFd connection = Accept(grpc_fd)) grpc::AddInsecureChannelFromFd(&server, connection.Release());
    }
    if (entries[0].revents != 0) {
      const std::string text = std::to_string(getpid());
      if (UniqueFd connection = Accept(http_fd)) send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }
}

int Main(int argc, char** argv) {
  std::string config_file, admin, health_name;
  int http_fd = -1, grpc_fd = -1;
  ChildDescriptors descriptors;
  CLI::App app("A gateway for tests.", "inferd-gateway");
  app.add_option("--config", config_file);
  app.add_option("--admin", admin);
  app.add_option("--health-name", health_name);
  app.add_option("--http-fd", http_fd);
  app.add_option("--grpc-fd", grpc_fd);
  app.add_option("--lifeline-fd", descriptors.lifeline_fd);
  app.add_option("--report-fd", descriptors.report_fd);
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;

  const UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  const auto watch = ChildProcess::Start(descriptors, [&](int) {
    const uint64_t one = 1;
    CHECK(write(stop.get(), &one, sizeof one) == sizeof one);
  });
  if (!watch.ok()) return kExitFailed;
  std::ostringstream config;
  config << std::ifstream(config_file).rdbuf();
  if (config.str().find("/refused.keys") != std::string::npos) {
    (*watch)->Report(InvalidArgument("refused.keys: no keys"));
    return kExitUsage;
  }
  if (config.str().find("/crash.keys") != std::string::npos && !std::filesystem::exists(admin.substr(5) + ".crashed")) {
    std::ofstream(admin.substr(5) + ".crashed").flush();
    std::_Exit(9);
  }
  grpc::EnableDefaultHealthCheckService(true);
  v1::Inference::Service refuses_all;  // a server needs one service of its own
  grpc::ServerBuilder builder;
  builder.RegisterService(&refuses_all);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  server->GetHealthCheckService()->SetServingStatus(health_name, true);
  Serve(http_fd, grpc_fd, stop.get(), *server);
  server->Shutdown(std::chrono::system_clock::now());
  return kExitDone;
}

}  // namespace
}  // namespace inferd::daemon

int main(int argc, char** argv) { return inferd::daemon::Main(argc, argv); }
