#include "daemon/model_check.h"

#include <sys/wait.h>

#include <cerrno>

#include "config/base/child_process.h"
#include "config/base/status.h"
#include "config/load.h"
#include "daemon/child_plans.h"
#include "daemon/managed_process.h"

namespace inferd::daemon {

absl::Status CheckByWorker(Spawner& spawner, const std::string& programs, const config::Config& config,
                           const config::ModelOptions& model) {
  ASSIGN_OR_RETURN(const Spawned worker,
                   spawner.Spawn({.program = WorkerProgram(programs),
                                  .arguments = {"--model", model.name, "--check"},
                                  .config_yaml = config::PrintConfig(ConfigOfWorker(config, model))}));
  int wait_status = 0;
  while (waitpid(worker.pid, &wait_status, 0) != worker.pid) {
    if (errno != EINTR) return FromErrno(errno, "waitpid");
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kExitDone) return absl::OkStatus();
  const std::string report = ReadReport(worker.report);
  if (report.empty()) {
    return FailedPrecondition("its worker's check {}", DescribeExit(wait_status, /*out_of_memory=*/false).text);
  }
  return InvalidArgument("{}", report);
}

}  // namespace inferd::daemon
