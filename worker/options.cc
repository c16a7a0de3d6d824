// Apart from main.cc: CLI11 is a heavy header.
#include "worker/options.h"

#include "config/base/command_line.h"
#include "config/base/status.h"
#include "config/environment.h"
#include "engine/engine.h"

namespace inferd::worker {
namespace {

// "kernels avx2": what `inferd --version` shows. INFERD_ISA counts, a configuration does not.
std::string ChosenKernels() {
  const auto isa = config::ChosenInstructionSet(config::InstructionSet::kAuto);
  if (!isa.ok()) return "kernels: " + std::string(MessageOf(isa.status()));
  const bool automatic = *isa == config::InstructionSet::kAuto;
  const std::string name = engine::KernelVariant(automatic ? "" : std::string(config::NameOf(*isa)));
  if (!name.empty()) return "kernels " + name;
  return "kernels: INFERD_ISA: this processor does not run " + std::string(config::NameOf(*isa));
}

}  // namespace

std::optional<int> ReadCommandLine(int argc, const char* const* argv, WorkerOptions& options) {
  CLI::App app("Serves one version of one model; started by inferd.", "inferd-worker");
  app.add_option("--config", options.config, "configuration file (YAML)")->required();
  app.add_option("--model", options.model, "name of the model in it")->required();
  app.add_option("--model-version", options.version, "version that the supervisor counts")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--listen", options.listen, "gRPC address: unix:/absolute/path or host:port");
  app.add_option("--lifeline-fd", options.lifeline_fd, "pipe that ends with the supervisor");
  app.add_option("--report-fd", options.report_fd, "pipe for the reason of a failure");
  app.add_flag("--sandbox,!--no-sandbox", options.sandbox,
               "give up files, sockets and programs (not under a debugger)");
  app.add_option("--user", options.user, "number of the user and group to become before anything is read");
  app.add_option("--socket-group", options.socket_group, "number of the group that may connect to a unix socket");
  app.add_flag("--quiet-load", options.quiet_load, "load with little of the processors, beside others that serve");
  app.add_flag("--check", options.check, "say whether the model could be served, and exit");
  app.set_version_flag("--isa", ChosenKernels, "print which kernels this processor gets and exit");
  return ParseCommandLine(app, argc, argv);
}

}  // namespace inferd::worker
