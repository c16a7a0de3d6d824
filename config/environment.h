// What programs take from the environment; nothing else reads it.
//
//   ASSIGN_OR_RETURN(config.instruction_set, ChosenInstructionSet(config.instruction_set));
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace inferd::config {

// "auto", "reference", "avx2", "avxvnni", "avx512", "neon" or "neon_i8mm".
std::string_view NameOf(InstructionSet set);
// In the order of the enumerators.
std::span<const std::string_view> InstructionSetNames();
absl::StatusOr<InstructionSet> ParseInstructionSet(std::string_view name);

// INFERD_ISA if it is set, else `configured`; INVALID_ARGUMENT for a name that is none.
absl::StatusOr<InstructionSet> ChosenInstructionSet(InstructionSet configured);

// The environment that child processes get: ours without what the service manager meant for us alone.
std::vector<std::string> EnvironmentForChildren();

// HOME, empty if not set: where inferctl keeps the lines typed before.
std::string HomeDirectory();

}  // namespace inferd::config
