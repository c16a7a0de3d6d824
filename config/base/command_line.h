// One way for all programs to read a command line: CLI11, with our exit codes.
//
//   CLI::App app("Serves large language models.", "inferd");
//   app.add_option("--config", path, "configuration file (YAML)")->required();
//   if (std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
//
// A heavy header: include it in main files only.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "config/base/status.h"

namespace inferd {

// nullopt: go on. 0: --help or --version was answered, or --describe-command-line, which packaging asks
// (describe_command_line.h). 2: a usage error was explained on stderr.
std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv);

// An option's check by the function that reads it: what it refuses is a usage error.
//   verb->add_option("--shape", text)->check(ReadBy(ParseShape));
template <typename Parse>
std::function<std::string(const std::string&)> ReadBy(Parse parse) {
  return [parse](const std::string& text) {
    const auto result = parse(text);
    return result.ok() ? std::string() : std::string(result.status().message());
  };
}

// The exit code of a program at its end: 1, with a line on stderr, if what it printed could not be written.
int FinishOutput(const char* program, int exit_code);

}  // namespace inferd
