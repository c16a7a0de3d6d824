// Exceptions of the CLI11 library end here.
#include "config/base/command_line.h"

#include <cstdio>
#include <iostream>
#include <string_view>

#include "config/base/describe_command_line.h"

namespace inferd {

std::optional<int> ParseCommandLine(CLI::App& app, int argc, const char* const* argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--describe-command-line") {
    std::cout << DescribeCommandLine(app) << '\n';
    return std::cout.flush() ? 0 : 1;
  }
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& success) {  // --help, --version
    const int exit_code = app.exit(success, std::cout, std::cerr);
    return std::cout.flush() ? exit_code : 1;
  } catch (const CLI::ParseError& error) {
    // An unknown verb is more to the point than that a verb is missing.
    const std::vector<std::string> unknown = app.remaining();
    const bool unknown_verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !unknown.empty();
    const std::string reason = unknown_verb ? CLI::ExtrasError(app.get_name(), unknown).what() : error.what();
    std::cerr << app.get_name() << ": " << reason << "\nRun with --help for more information.\n";
    return 2;
  }
}

int FinishOutput(const char* program, int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::cerr << program << ": standard output: cannot be written\n";
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace inferd
