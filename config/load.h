// YAML to Config and back. Errors name file, line and key: "inferd.yaml:7: models[0].kv_cache.bytes: "5XB" is not ...".
//
//   ASSIGN_OR_RETURN(Config config, LoadConfig("/etc/inferd/inferd.yaml"));
//   std::string text = PrintConfig(config);          // every option with its effective value; reads back the same
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace inferd::config {

// Where the values stand in the file, lines from 1, by key ("models[0].path"). What it does not say is not there.
using OptionLines = std::map<std::string, int>;

// Reads and checks a file (also /dev/fd/N). Relative paths in it count from the file's directory. INFERD_ISA in the
// environment goes before the file's instruction_set.
//   NOT_FOUND, PERMISSION_DENIED...  the file cannot be read; INVALID_ARGUMENT  it is wrong
absl::StatusOr<Config> LoadConfig(const std::string& file, OptionLines* lines = nullptr);

// The same for text, without the environment; `file` is for messages and relative paths alone.
absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& file, OptionLines* lines = nullptr);

// All options as YAML, in the order of the table.
std::string PrintConfig(const Config& config);

// All options with type, default, range and help, as a commented YAML text for people.
std::string PrintOptionReference();

}  // namespace inferd::config
