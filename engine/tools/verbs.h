// The verbs of inferd-model, one file each. A verb declares its options and, when given, leaves its action to be run.
//
//   Action action;
//   AddInspect(program, action);
//   ... parse ...
//   absl::Status status = action();
//
// A heavy header (CLI11): only the verbs and the program's main include it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace inferd::tools {

using Action = std::function<absl::Status()>;

// The option --threads, of the verbs that run a model.
inline void AddThreads(CLI::App& verb, int32_t& threads) {
  verb.add_option("--threads", threads, "threads (0: the cores this process may use)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

void AddBench(CLI::App& program, Action& action);
void AddInspect(CLI::App& program, Action& action);
void AddLogits(CLI::App& program, Action& action);
void AddMerge(CLI::App& program, Action& action);
void AddPerplexity(CLI::App& program, Action& action);
void AddPull(CLI::App& program, Action& action);
void AddQuantize(CLI::App& program, Action& action);
void AddRun(CLI::App& program, Action& action);
void AddSplit(CLI::App& program, Action& action);
void AddTemplate(CLI::App& program, Action& action);
void AddTokenize(CLI::App& program, Action& action);
void AddVerify(CLI::App& program, Action& action);

}  // namespace inferd::tools
