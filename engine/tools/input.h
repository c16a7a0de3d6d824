// Where a verb's text comes from: given on the command line, or a file.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace inferd::tools {

// All bytes of a file ("-": standard input).
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace inferd::tools
