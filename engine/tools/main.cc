// inferd-model: looks into model files and runs them without a daemon.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string_view>

#include "config/base/command_line.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "engine/tools/verbs.h"

namespace {

// Of the memory of this process (RLIMIT_DATA), so that a file that wants more ends with a message instead of taking
// the machine's.
absl::Status LimitMemory(uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? absl::OkStatus() : inferd::FromErrno(errno, "--memory-limit");
}

[[noreturn]] void EndWithoutMemory() {
  constexpr std::string_view kMessage =
      "inferd-model: out of memory: the file needs more than there is, or than --memory-limit allows\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace inferd;
  CLI::App program("Looks into model files (GGUF) and runs them without a daemon.", "inferd-model");
  program.set_version_flag("--version", fmt::format("inferd-model {}", kVersion));
  program.require_subcommand(1);
  uint64_t memory_limit = 0;
  program
      .add_option("--memory-limit", memory_limit, "memory beside the mapped file, e.g. 2GiB (0: what the system gives)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  program.footer("Each verb has its own --help. Exit codes: 0 done, 1 failed, 2 usage.");
  tools::Action action;
  for (const auto add_verb :
       {tools::AddInspect, tools::AddVerify, tools::AddTokenize, tools::AddTemplate, tools::AddLogits, tools::AddRun,
        tools::AddPerplexity, tools::AddBench, tools::AddSplit, tools::AddMerge, tools::AddPull, tools::AddQuantize}) {
    add_verb(program, action);
  }
  if (const std::optional<int> exit_code = ParseCommandLine(program, argc, argv)) return *exit_code;
  std::set_new_handler(EndWithoutMemory);
  absl::Status status = LimitMemory(memory_limit);
  if (status.ok()) status = action();
  if (!status.ok()) PrintError("inferd-model", MessageOf(status));
  return FinishOutput("inferd-model", status.ok() ? 0 : 1);
}
