// Numbers to text and back, spelled as Python spells them.
//
//   FormatFloat(1e16) == "1e+16"; FormatFloat(2) == "2.0";
//   ParseInteger(" 1_000 ", 10) == 1000; ParseInteger("0x1f", 16) == 31; ParseFloat("nan").has_value();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace inferd::chat_template {

std::string FormatFloat(double value);  // repr(): the shortest text that reads back equal

// int(text, base); nullopt: not a number. Base 0 takes the base from the prefix. INVALID_ARGUMENT: beyond 64 bits.
absl::StatusOr<std::optional<int64_t>> ParseInteger(std::string_view text, int base);
std::optional<double> ParseFloat(std::string_view text);  // float(text)
// The integer part; INVALID_ARGUMENT for infinities, NaN and what needs more than 64 bits.
absl::StatusOr<int64_t> Truncate(double value);
// round(value, digits): to the nearest, ties to even, decided on the exact decimal value.
double RoundTo(double value, int64_t digits);

}  // namespace inferd::chat_template
