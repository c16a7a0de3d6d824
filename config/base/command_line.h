// One way for all programs to read a command line: CLI11, with our exit codes.
//
//   CLI::App app("Serves large language models.", "inferd");
//   app.add_option("--config", path, "configuration file (YAML)")->required();
//   if (std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
//
// A heavy header: include it in main files only.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

namespace inferd {

// nullopt: go on. 0: --help or --version was answered. 2: a usage error was explained on stderr.
std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv);

// The exit code of a program at its end: 1, with a line on stderr, if what it printed could not be written.
int FinishOutput(const char* program, int exit_code);

}  // namespace inferd
