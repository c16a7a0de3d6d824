// inferd: checks the configuration, then supervises the gateway and the workers until it is told to stop.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <string>

#include "config/base/child_process.h"
#include "config/base/command_line.h"
#include "config/base/log.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "config/load.h"
#include "daemon/reload.h"
#include "daemon/supervisor.h"
#include "proto/grpc_log.h"

namespace inferd::daemon {
namespace {

struct Flags {
  std::string config = "/etc/inferd/inferd.yaml";
  std::string programs;
  bool check = false;
  bool print_config = false;
  bool print_options = false;
  bool version = false;
};

std::string DirectoryOfThisProgram() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string_view program(path, static_cast<size_t>(length));
  return std::string(program.substr(0, program.rfind('/')));
}

// The daemon has no kernels: the worker knows which variant this processor gets.
int PrintVersion(const std::string& programs) {
  fmt::print("inferd {}\n", kVersion);
  std::fflush(stdout);
  std::string program = programs + "/inferd-worker", flag = "--isa";
  char* arguments[] = {program.data(), flag.data(), nullptr};
  pid_t pid = -1;
  int status = 0;
  const int error = posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ);
  if (error != 0 || waitpid(pid, &status, 0) != pid || status != 0) {
    fmt::print(stderr, "inferd: kernels unknown, {} --isa failed\n", program);
    return kExitFailed;
  }
  return kExitDone;
}

int Fail(const absl::Status& status, int exit_code) {
  LogError("inferd cannot start", {{"reason", MessageOf(status)}});
  StopLog();
  return exit_code;
}

// What a reload would refuse, is refused here by the same code.
int Check(const std::string& file) {
  const absl::StatusOr<IdentifiedConfig> config = LoadIdentifiedConfig(file);
  if (!config.ok()) {
    fmt::print(stderr, "inferd: {}\n", MessageOf(config.status()));
    return kExitUsage;
  }
  fmt::print("{}: ok, {} models\n", file, config->config.models.size());
  return kExitDone;
}

int Serve(const Flags& flags, const config::Config& config) {
  StartLog({.process = "inferd", .level = config.log.level, .format = config.log.format});
  TakeOverGrpcLog();
  auto supervisor = Supervisor::Create({.config_file = flags.config, .programs = flags.programs}, config);
  if (!supervisor.ok()) return Fail(supervisor.status(), kExitFailed);
  const int exit_code = (*supervisor)->Run();
  StopLog();
  // Calls to the admin service that are still open run on threads that use what a return would destroy.
  _exit(exit_code);
}

int Main(int argc, char** argv) {
  Flags flags;
  flags.programs = DirectoryOfThisProgram();
  CLI::App app("Serves large language models: supervises the gateway and one worker for each model version.", "inferd");
  app.add_option("--config", flags.config, "configuration file (YAML)")->capture_default_str();
  app.add_flag("--check", flags.check, "check the configuration and that its model files are there, and exit");
  app.add_flag("--print-config", flags.print_config, "print the effective configuration and exit");
  app.add_flag("--print-options", flags.print_options, "print every option with its range and meaning and exit");
  app.add_flag("--version", flags.version, "print the version and the kernels in use and exit");
  app.add_option("--programs", flags.programs, "directory of inferd-worker and inferd-gateway")->capture_default_str();
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;

  if (flags.version) return PrintVersion(flags.programs);
  if (flags.print_options) {
    fmt::print("{}", config::PrintOptionReference());
    return kExitDone;
  }
  const absl::StatusOr<config::Config> config = config::LoadConfig(flags.config);
  if (!config.ok()) {
    fmt::print(stderr, "inferd: {}\n", MessageOf(config.status()));
    return kExitUsage;
  }
  if (flags.print_config && !flags.check) fmt::print("{}", config::PrintConfig(*config));
  if (flags.print_config && !flags.check) return kExitDone;
  if (flags.check) return Check(flags.config);
  return Serve(flags, *config);
}

}  // namespace
}  // namespace inferd::daemon

int main(int argc, char** argv) { return inferd::daemon::Main(argc, argv); }
