#include "config/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "config/base/status.h"

namespace inferd::config {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// In both tables the units that Format... chooses from come first, largest first.
constexpr size_t kBinaryUnits = 4;
constexpr std::array kByteUnits = {
    Unit{"TiB", uint64_t{1} << 40},
    Unit{"GiB", uint64_t{1} << 30},
    Unit{"MiB", uint64_t{1} << 20},
    Unit{"KiB", uint64_t{1} << 10},
    Unit{"TB", 1'000'000'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"MB", 1'000'000},
    Unit{"kB", 1'000},
    Unit{"B", 1},
    Unit{"", 1},
};
constexpr std::array kTimeUnits = {
    Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000}, Unit{"ms", 1},
};
// CPU_SETSIZE of the C library, less one.
constexpr uint64_t kMaxCpu = 1023;
constexpr uint64_t kMaxDurationMs = uint64_t{3650} * 86'400'000;

// Number and unit of "512MiB"; nothing else around them. Fails for an unknown unit or a product beyond 64 bits.
template <size_t N>
bool ParseAmount(std::string_view text, const std::array<Unit, N>& units, uint64_t& out) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (suffix != unit.name) continue;
    return !__builtin_mul_overflow(number, unit.factor, &out);
  }
  return false;
}

}  // namespace

absl::StatusOr<uint64_t> ParseWholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("\"{}\" is not a whole number", text);
  }
  return number;
}

absl::StatusOr<uint64_t> ParseByteSize(std::string_view text) {
  uint64_t bytes = 0;
  if (!ParseAmount(text, kByteUnits, bytes)) {
    return InvalidArgument("\"{}\" is not a size in bytes such as 512MiB (units B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)",
                           text);
  }
  return bytes;
}

absl::StatusOr<Milliseconds> ParseDuration(std::string_view text) {
  uint64_t milliseconds = 0;
  if (text == "0") return Milliseconds(0);
  if (!ParseAmount(text, kTimeUnits, milliseconds) || milliseconds > kMaxDurationMs) {
    return InvalidArgument("\"{}\" is not a duration such as 30s (units ms, s, m, h, d)", text);
  }
  return Milliseconds(milliseconds);
}

absl::StatusOr<std::vector<uint32_t>> ParseCpuList(std::string_view text) {
  std::vector<uint32_t> cpus;
  const absl::Status wrong =
      InvalidArgument("\"{}\" is not a list of processors such as 0-3,8 (each of 0..{})", text, kMaxCpu);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    if (part.size() + 1 == text.size()) return wrong;  // nothing after the last comma
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t dash = part.find('-');
    const auto first = ParseWholeNumber(part.substr(0, dash));
    const auto last = dash == part.npos ? first : ParseWholeNumber(part.substr(dash + 1));
    if (!first.ok() || !last.ok() || *first > *last || *last > kMaxCpu) return wrong;
    for (uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<uint32_t>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string FormatByteSize(uint64_t bytes) {
  for (size_t i = 0; i < kBinaryUnits; ++i) {
    const Unit& unit = kByteUnits[i];
    if (bytes != 0 && bytes % unit.factor == 0) return fmt::format("{}{}", bytes / unit.factor, unit.name);
  }
  return fmt::format("{}B", bytes);
}

std::string FormatDuration(Milliseconds duration) {
  const auto milliseconds = static_cast<uint64_t>(duration.count());
  for (const Unit& unit : kTimeUnits) {
    if (milliseconds != 0 && milliseconds % unit.factor == 0) {
      return fmt::format("{}{}", milliseconds / unit.factor, unit.name);
    }
  }
  return "0s";
}

}  // namespace inferd::config
