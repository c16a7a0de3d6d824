#include "config/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "config/base/status.h"

namespace inferd::config {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 7> kNames = {"auto",   "reference", "avx2",     "avxvnni",
                                                    "avx512", "neon",      "neon_i8mm"};

}  // namespace

std::span<const std::string_view> InstructionSetNames() { return kNames; }

std::string_view NameOf(InstructionSet set) { return kNames[static_cast<size_t>(set)]; }

absl::StatusOr<InstructionSet> ParseInstructionSet(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return InvalidArgument("instruction set \"{}\" is not one of {}", name, fmt::join(kNames, ", "));
  }
  return static_cast<InstructionSet>(found - kNames.begin());
}

absl::StatusOr<InstructionSet> ChosenInstructionSet(InstructionSet configured) {
  const char* const value = std::getenv("INFERD_ISA");
  if (value == nullptr || *value == '\0') return configured;
  const absl::StatusOr<InstructionSet> set = ParseInstructionSet(value);
  if (!set.ok()) return Annotate(set.status(), "INFERD_ISA");
  return set;
}

std::vector<std::string> EnvironmentForChildren() {
  constexpr std::array<std::string_view, 5> kOurs = {
      "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=", "LISTEN_FDS=", "LISTEN_PID="};
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool ours =
        std::any_of(kOurs.begin(), kOurs.end(), [&](std::string_view name) { return text.starts_with(name); });
    if (!ours) out.emplace_back(text);
  }
  return out;
}

std::string HomeDirectory() {
  const char* const value = std::getenv("HOME");
  return value == nullptr ? "" : value;
}

}  // namespace inferd::config
