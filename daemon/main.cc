// inferd: checks the configuration, then supervises the gateway and the workers until it is told to stop.
#include <fmt/format.h>
#include <linux/capability.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <string>

#include "config/api_keys.h"
#include "config/base/child_process.h"
#include "config/base/command_line.h"
#include "config/base/log.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "config/load.h"
#include "config/sandbox/privileges.h"
#include "config/sandbox/system_calls.h"
#include "daemon/child_plans.h"
#include "daemon/child_users.h"
#include "daemon/model_check.h"
#include "daemon/models_directory.h"
#include "daemon/reload.h"
#include "daemon/spawner.h"
#include "daemon/supervisor.h"
#include "proto/grpc_log.h"

namespace inferd::daemon {
namespace {

struct Flags {
  std::string config = "/etc/inferd/inferd.yaml";
  std::string programs;
  uint32_t first_user = kFirstUser;
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
  Print("inferd {}\n", kVersion);
  std::fflush(stdout);
  std::string program = WorkerProgram(programs), flag = "--isa";
  char* arguments[] = {program.data(), flag.data(), nullptr};
  pid_t pid = -1;
  int status = 0;
  const int error = posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ);
  if (error != 0) {
    const absl::Status why = FromErrno(error, fmt::format("the program {} cannot be executed", program));
    PrintError("inferd", fmt::format("kernels unknown, {}", MessageOf(why)));
    return kExitFailed;
  }
  if (waitpid(pid, &status, 0) != pid || status != 0) {
    PrintError("inferd", fmt::format("kernels unknown, {} --isa failed", program));
    return kExitFailed;
  }
  return kExitDone;
}

int Fail(const absl::Status& status, int exit_code) {
  LogError("inferd cannot start", {{"reason", MessageOf(status)}});
  StopLog();
  return exit_code;
}

int Refuse(const absl::Status& status) {
  PrintError("inferd", MessageOf(status));
  return kExitUsage;
}

// What a reload would refuse, is refused here by the same code; what a worker would refuse, by a worker.
int Check(const Flags& flags) {
  const absl::StatusOr<std::unique_ptr<SystemSpawner>> spawner = SystemSpawner::Create();
  if (!spawner.ok()) return Refuse(spawner.status());
  const auto look_inside = [&](const config::Config& config, const config::ModelOptions& model) -> absl::Status {
    RETURN_IF_ERROR(CheckModelFiles(model));
    RETURN_IF_ERROR(CheckMachine(model));
    return CheckByWorker(**spawner, flags.programs, config, model, ChildUsers::Choose(flags.first_user, "").check());
  };
  const absl::StatusOr<IdentifiedConfig> config = LoadIdentifiedConfig(flags.config, look_inside);
  if (!config.ok()) return Refuse(config.status());
  Print("{}: ok, {} models\n", flags.config, config->config.models.size());
  return kExitDone;
}

// After ports and directories are there, and before the first thread. As root the right to read files of others is
// left, for models, and what it takes to start and to end children that are other users; children drop it.
absl::Status GiveUpPrivileges(bool changes_users) {
  sandbox::AllowReturnOfNiceness();
  RETURN_IF_ERROR(sandbox::HideMemory());
  if (changes_users) {
    RETURN_IF_ERROR(sandbox::DropCapabilities({CAP_DAC_READ_SEARCH, CAP_SETUID, CAP_SETGID, CAP_KILL}));
  } else {
    RETURN_IF_ERROR(sandbox::DropCapabilities({CAP_DAC_READ_SEARCH}));
  }
  return sandbox::LimitSystemCalls(sandbox::Stage::kSupervisor);
}

int Serve(const Flags& flags, const config::Config& config) {
  auto supervisor = Supervisor::Create(
      {.config_file = flags.config, .programs = flags.programs, .first_user = flags.first_user}, config);
  const absl::Status limited = supervisor.ok() ? GiveUpPrivileges((*supervisor)->changes_users()) : absl::OkStatus();
  StartLog({.process = "inferd", .level = config.log.level, .format = config.log.format});
  TakeOverGrpcLog();
  if (!supervisor.ok()) return Fail(supervisor.status(), kExitFailed);
  if (!limited.ok()) return Fail(limited, kExitFailed);
  if (const absl::Status built = (*supervisor)->Build(); !built.ok()) return Fail(built, kExitFailed);
  const int exit_code = (*supervisor)->Run();
  StopLog();
  // Calls to the admin service that are still open run on threads that use what a return would destroy.
  _exit(exit_code);
}

// Without a file, and none named, these are the defaults.
absl::StatusOr<config::Config> ConfigToPrint(const std::string& file, bool named) {
  absl::StatusOr<config::Config> config = LoadConfigWithModels(file);
  if (named || !absl::IsNotFound(config.status())) return config;
  PrintError("inferd", file + " is not there: these are the defaults");
  return config::ParseConfig("models: []", file);
}

int PrintConfig(const Flags& flags, bool named) {
  const absl::StatusOr<config::Config> config = ConfigToPrint(flags.config, named);
  if (!config.ok()) return Refuse(config.status());
  Print("{}", config::PrintConfig(*config));
  return kExitDone;
}

int Start(const Flags& flags) {
  const absl::StatusOr<config::Config> config = LoadConfigWithModels(flags.config);
  if (!config.ok()) return Refuse(config.status());
  if (const absl::Status keys = config::CheckKeysFile(*config); !keys.ok()) return Refuse(keys);
  return Serve(flags, *config);
}

int Main(int argc, char** argv) {
  Flags flags;
  flags.programs = DirectoryOfThisProgram();
  CLI::App app("Serves large language models: supervises the gateway and one worker for each model version.", "inferd");
  app.add_option("--config", flags.config, "configuration file (YAML)")->capture_default_str();
  app.add_flag("--check", flags.check, "check the configuration, its model files and its keys file, and exit");
  app.add_flag("--print-config", flags.print_config,
               "print the effective configuration (the defaults if there is none) and exit");
  app.add_flag("--print-options", flags.print_options, "print every option with its range and meaning and exit");
  app.add_flag("--version", flags.version, "print the version and the kernels in use and exit");
  app.add_option("--programs", flags.programs, "directory of inferd-worker and inferd-gateway")->capture_default_str();
  app.add_option(
         "--first-user", flags.first_user,
         "started as root: number of the user and group that the gateway becomes; each worker becomes one of the "
         "next 500. 0: all stay root")
      ->capture_default_str()
      ->check(CLI::Range(2'000'000'000));
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;

  if (flags.print_options) Print("{}", config::PrintOptionReference());
  const int exit_code = flags.version         ? PrintVersion(flags.programs)
                        : flags.print_options ? kExitDone
                        : flags.check         ? Check(flags)
                        : flags.print_config  ? PrintConfig(flags, app.count("--config") > 0)
                                              : Start(flags);
  return FinishOutput("inferd", exit_code);
}

}  // namespace
}  // namespace inferd::daemon

int main(int argc, char** argv) { return inferd::daemon::Main(argc, argv); }
