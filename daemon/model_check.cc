#include "daemon/model_check.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "config/base/child_process.h"
#include "config/base/status.h"
#include "config/load.h"
#include "config/units.h"
#include "daemon/child_plans.h"
#include "daemon/managed_process.h"

namespace inferd::daemon {
namespace {

absl::Status CheckProcessors(const std::string& list) {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> wanted, config::ParseCpuList(list));
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return FromErrno(errno, "sched_getaffinity");
  for (const uint32_t cpu : wanted) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) continue;
    return InvalidField("cpus", "{} is not a processor that the daemon may use, it has {}", cpu, CPU_COUNT(&allowed));
  }
  return absl::OkStatus();
}

// A save writes a file beside the old one and renames it.
absl::Status CheckSave(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (access(folder.c_str(), W_OK | X_OK) != 0) return AtField("kv_cache.save", FromErrno(errno, folder));
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return InvalidField("kv_cache.save", "{} is no regular file", path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMachine(const config::ModelOptions& model) {
  RETURN_IF_ERROR(CheckProcessors(model.cpus));
  return CheckSave(model.kv_cache.save);
}

absl::Status CheckByWorker(Spawner& spawner, const std::string& programs, const config::Config& config,
                           const config::ModelOptions& model, uint32_t user,
                           const std::function<uint64_t()>& out_of_memory_kills) {
  ProcessSpec spec{.program = WorkerProgram(programs),
                   .arguments = {"--model", model.name, "--check"},
                   .config_yaml = config::PrintConfig(ConfigOfWorker(config, model)),
                   .oom_score = kWorkerOomScore,
                   .memory_limit_bytes = model.memory_limit};
  if (user != 0) spec.arguments.insert(spec.arguments.end(), {"--user", std::to_string(user)});
  const uint64_t kills_before = out_of_memory_kills();
  ASSIGN_OR_RETURN(const Spawned worker, spawner.Spawn(spec));
  int wait_status = 0;
  while (waitpid(worker.pid, &wait_status, 0) != worker.pid) {
    if (errno != EINTR) return FromErrno(errno, "waitpid");
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kExitDone) return absl::OkStatus();
  const absl::Status report = ReadReport(worker.report);
  if (!report.ok()) return report;
  const ExitMeaning meaning = DescribeExit(wait_status, out_of_memory_kills() > kills_before);
  return FailedPrecondition("its worker's check: {}", meaning.text);
}

}  // namespace inferd::daemon
