// The format specification of one value: [[fill]align][sign][z][#][0][width][grouping][.precision][type], Python's
// "Format Specification Mini-Language".
//
//   ASSIGN_OR_RETURN(FormatSpec spec, ParseFormatSpec(">8.2f"));
//   ASSIGN_OR_RETURN(Text text, FormatValue(heap, Value::Float(3.14159), spec));   // "    3.14"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

struct FormatSpec {
  std::string fill = " ";  // one code point
  char align = '\0';       // '<', '>', '^', '=': after the sign; none: by the type
  char sign = '-';         // '-', '+', ' '
  bool alternate = false;  // '#'
  int64_t width = 0;       // code points
  char grouping = '\0';    // ',' or '_'
  std::optional<int> precision = std::nullopt;
  char type = '\0';
  bool plain = false;  // nothing was specified
};

absl::StatusOr<FormatSpec> ParseFormatSpec(std::string_view text);
// INVALID_ARGUMENT: the type does not suit the value; RESOURCE_EXHAUSTED: the text would be too long.
absl::StatusOr<Text> FormatValue(Heap& heap, const Value& value, const FormatSpec& spec);

// The pieces, for printf-style formats: at least `min_digits` digits of an integer, a float by its type letter.
absl::StatusOr<Text> FormatInteger(Heap& heap, int64_t value, const FormatSpec& spec, int min_digits = 1);
absl::StatusOr<Text> FormatReal(Heap& heap, double value, const FormatSpec& spec);
// The text in a field of spec.width code points; `otherwise` aligns it where the specification does not.
absl::StatusOr<Text> Pad(Heap& heap, const Text& text, const FormatSpec& spec, char otherwise);

}  // namespace inferd::chat_template
