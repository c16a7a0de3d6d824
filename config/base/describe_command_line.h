// A program's options and verbs as JSON, of which man pages and completions are made.
//
//   std::string json = DescribeCommandLine(app);
//   // {"name": "inferctl", "text": "...", "options": [{"names": ["--admin"], ...}], "verbs": [{"name": "status",
//   ...}]}
//
// A heavy header: include it beside command_line.h only.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace inferd {

// Of each option: names, help, value ("" for a flag), choices, default, required, positional. Verbs as the program.
std::string DescribeCommandLine(const CLI::App& app);

}  // namespace inferd
