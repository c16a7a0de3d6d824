// Amounts with units as the configuration and command lines write them.
//
//   ParseByteSize("512MiB")   // 536870912
//   ParseDuration("30s")      // 30000ms
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"

namespace inferd::config {

// "0-3,8" as {0, 1, 2, 3, 8}: processors as the kernel lists them, ascending and each once. Empty text: none.
absl::StatusOr<std::vector<uint32_t>> ParseCpuList(std::string_view text);

// A whole number with B, KiB, MiB, GiB, TiB (powers of 1024), kB, MB, GB, TB (powers of 1000) or nothing (bytes).
absl::StatusOr<uint64_t> ParseByteSize(std::string_view text);
// A whole number with ms, s, m, h or d; 0 needs no unit. At most 10 years.
absl::StatusOr<Milliseconds> ParseDuration(std::string_view text);
// A whole decimal number without sign.
absl::StatusOr<uint64_t> ParseWholeNumber(std::string_view text);

// The shortest exact form, e.g. "512MiB", "1500B"; reads back as the same value.
std::string FormatByteSize(uint64_t bytes);
std::string FormatDuration(Milliseconds duration);

}  // namespace inferd::config
