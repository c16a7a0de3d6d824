// inferd-model: looks into model files and runs them without a daemon.
#include <fmt/format.h>

#include <cstdio>

#include "config/base/command_line.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "engine/tools/verbs.h"

int main(int argc, char** argv) {
  using namespace inferd;
  CLI::App program("Looks into model files (GGUF) and runs them without a daemon.", "inferd-model");
  program.set_version_flag("--version", fmt::format("inferd-model {}", kVersion));
  program.require_subcommand(1);
  program.footer("Each verb has its own --help. Exit codes: 0 done, 1 failed, 2 usage.");
  tools::Action action;
  for (const auto add_verb :
       {tools::AddInspect, tools::AddVerify, tools::AddTokenize, tools::AddTemplate, tools::AddLogits, tools::AddRun,
        tools::AddPerplexity, tools::AddBench, tools::AddSplit, tools::AddMerge, tools::AddPull}) {
    add_verb(program, action);
  }
  if (const std::optional<int> exit_code = ParseCommandLine(program, argc, argv)) return *exit_code;
  const absl::Status status = action();
  if (!status.ok()) PrintError("inferd-model", MessageOf(status));
  return FinishOutput("inferd-model", status.ok() ? 0 : 1);
}
