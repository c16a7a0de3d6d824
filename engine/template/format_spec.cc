#include "engine/template/format_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "config/base/status.h"
#include "engine/template/number.h"
#include "engine/template/print.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

constexpr int kMaxPrecision = 100'000;
constexpr int64_t kMaxWidth = int64_t{1} << 40;  // larger than any string may be

bool IsAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// A number at the start of the text, which moves behind it; nullopt: no digit. Clamped far beyond what is allowed.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  int64_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = std::min(number * 10 + (text[0] - '0'), kMaxWidth);
    text.remove_prefix(1);
  }
  return number;
}

bool TakeCharacter(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

void TakeFillAndAlign(std::string_view& text, FormatSpec& spec) {
  if (text.empty()) return;
  size_t first = 0;
  NextCodePoint(text, first);
  if (first < text.size() && IsAlign(text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (IsAlign(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
}

std::string_view SignOf(bool negative, char wanted) {
  if (negative) return "-";
  return wanted == '+' ? "+" : wanted == ' ' ? " " : "";
}

size_t GroupSize(const FormatSpec& spec) {
  return spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b' ? 4 : 3;
}

std::string Grouped(const std::string& digits, char separator, size_t group) {
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) result.push_back(separator);
    result.push_back(digits[i]);
  }
  return result;
}

// Sign, digits of the whole part and the rest (fraction, exponent, percent sign) in their field.
absl::StatusOr<Text> Assemble(Heap& heap, const std::string& sign, std::string whole, const std::string& rest,
                              const FormatSpec& spec) {
  const auto width = static_cast<size_t>(spec.width);
  const bool is_number = !whole.empty() && whole[0] >= '0' && whole[0] <= '9';
  RETURN_IF_ERROR(heap.CheckString(width + whole.size() * 2 + rest.size()));
  const bool fills_zeros = spec.align == '=' && spec.fill == "0" && spec.grouping != '\0' && is_number;
  if (spec.grouping != '\0' && is_number) {
    std::string grouped = Grouped(whole, spec.grouping, GroupSize(spec));
    if (fills_zeros) {
      // Zeros are grouped as digits are: as many as the field needs, one more rather than a leading separator.
      const size_t others = sign.size() + rest.size();
      const size_t field = width > others ? width - others : 0;
      if (grouped.size() < field) {
        size_t digits = field - field / (GroupSize(spec) + 1);
        digits = std::max(digits, whole.size());
        grouped = Grouped(std::string(digits - whole.size(), '0') + whole, spec.grouping, GroupSize(spec));
      }
    }
    whole = std::move(grouped);
  }
  const std::string body = whole + rest;
  if (spec.align == '=') {
    const size_t size = sign.size() + CountCodePoints(body);
    Text text(sign, true);
    for (size_t i = size; i < width; ++i) text.Append(spec.fill, true);
    text.Append(body, true);
    return text;
  }
  return Pad(heap, Text(sign + body, true), spec, '>');
}

std::string Printed(const char* format, int precision, double value) {
  const int size = std::snprintf(nullptr, 0, format, precision, value);
  std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, precision, value);
  text.pop_back();
  return text;
}

// Without a type but with a precision: like g, but scientific one digit earlier and with a digit after the point.
std::string PrintedAsRepr(double value, int precision) {
  precision = std::max(precision, 1);
  const std::string scientific = Printed("%.*e", precision - 1, value);
  const size_t exponent_at = scientific.find('e');
  const int point = std::atoi(scientific.c_str() + exponent_at + 1) + 1;
  if (point > -4 && point <= precision - 1) {
    std::string fixed = Printed("%.*g", precision, value);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    return fixed;
  }
  std::string mantissa = scientific.substr(0, exponent_at);
  if (mantissa.find('.') != std::string::npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  return mantissa + scientific.substr(exponent_at);
}

// The magnitude in the spelling of the type letter.
std::string RealDigits(double magnitude, const FormatSpec& spec) {
  if (!std::isfinite(magnitude)) {
    const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
    return std::string(std::isnan(magnitude) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf")) +
           (spec.type == '%' ? "%" : "");
  }
  const int precision = spec.precision.value_or(6);
  switch (spec.type) {
    case 'e':
      return Printed(spec.alternate ? "%#.*e" : "%.*e", precision, magnitude);
    case 'E':
      return Printed(spec.alternate ? "%#.*E" : "%.*E", precision, magnitude);
    case 'f':
    case 'F':
      return Printed(spec.alternate ? "%#.*f" : "%.*f", precision, magnitude);
    case 'G':
      return Printed(spec.alternate ? "%#.*G" : "%.*G", precision, magnitude);
    case '%':
      return Printed("%.*f", precision, magnitude * 100) + "%";
    case '\0':
      return spec.precision ? PrintedAsRepr(magnitude, *spec.precision) : FormatFloat(magnitude);
    default:
      return Printed(spec.alternate ? "%#.*g" : "%.*g", precision, magnitude);
  }
}

absl::Status UnknownCode(char type, const Value& value) {
  return InvalidArgument("unknown format code '{}' for object of type '{}'", type, value.TypeName());
}

absl::StatusOr<Text> FormatString(Heap& heap, const Value& value, const FormatSpec& spec) {
  if (spec.type != '\0' && spec.type != 's') return UnknownCode(spec.type, value);
  if (spec.align == '=') return InvalidArgument("'=' alignment not allowed in string format specifier");
  if (spec.sign != '-' || spec.alternate || spec.grouping != '\0') {
    return InvalidArgument("sign, '#' and grouping are not allowed in a string format specifier");
  }
  const Text& text = value.text();
  if (!spec.precision) return Pad(heap, text, spec, '<');
  const size_t end = OffsetOfCodePoint(text.bytes(), static_cast<size_t>(*spec.precision));
  return Pad(heap, text.Slice(0, end), spec, '<');
}

}  // namespace

absl::StatusOr<FormatSpec> ParseFormatSpec(std::string_view text) {
  FormatSpec spec;
  spec.plain = text.empty();
  TakeFillAndAlign(text, spec);
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  TakeCharacter(text, 'z');
  spec.alternate = TakeCharacter(text, '#');
  if (TakeCharacter(text, '0') && spec.align == '\0') {
    spec.align = '0';  // becomes '=' for numbers, stays at the left for strings
    spec.fill = "0";
  }
  spec.width = TakeNumber(text).value_or(0);
  if (!text.empty() && (text[0] == ',' || text[0] == '_')) {
    spec.grouping = text[0];
    text.remove_prefix(1);
  }
  if (TakeCharacter(text, '.')) {
    const std::optional<int64_t> precision = TakeNumber(text);
    if (!precision) return InvalidArgument("format specifier missing precision");
    if (*precision > kMaxPrecision) return InvalidArgument("a precision of more than {} digits", kMaxPrecision);
    spec.precision = static_cast<int>(*precision);
  }
  if (text.size() > 1) return InvalidArgument("invalid format specifier");
  if (!text.empty()) spec.type = text[0];
  return spec;
}

absl::StatusOr<Text> Pad(Heap& heap, const Text& text, const FormatSpec& spec, char otherwise) {
  const size_t size = CountCodePoints(text.bytes());
  const auto width = static_cast<size_t>(spec.width);
  if (size >= width) return text;
  const size_t missing = width - size;
  RETURN_IF_ERROR(heap.CheckString(text.size() + missing * spec.fill.size()));
  const char align = spec.align == '\0' || spec.align == '0' ? otherwise : spec.align;
  const size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  Text padded;
  for (size_t i = 0; i < before; ++i) padded.Append(spec.fill, true);
  padded.Append(text);
  for (size_t i = before; i < missing; ++i) padded.Append(spec.fill, true);
  return padded;
}

absl::StatusOr<Text> FormatInteger(Heap& heap, int64_t value, const FormatSpec& given, int min_digits) {
  FormatSpec spec = given;
  if (spec.align == '0') spec.align = '=';
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string prefix;
  std::string digits;
  switch (spec.type) {
    case 'x':
      digits = fmt::format("{:x}", magnitude);
      break;
    case 'X':
      digits = fmt::format("{:X}", magnitude);
      break;
    case 'o':
      digits = fmt::format("{:o}", magnitude);
      break;
    case 'b':
      digits = fmt::format("{:b}", magnitude);
      break;
    default:
      digits = fmt::format("{}", magnitude);
      break;
  }
  if (spec.alternate && std::string_view("xXob").find(spec.type) != std::string_view::npos) {
    prefix = std::string("0") + spec.type;
  }
  if (digits.size() < static_cast<size_t>(min_digits)) {
    digits.insert(0, static_cast<size_t>(min_digits) - digits.size(), '0');
  }
  return Assemble(heap, std::string(SignOf(value < 0, spec.sign)) + prefix, digits, "", spec);
}

absl::StatusOr<Text> FormatReal(Heap& heap, double value, const FormatSpec& given) {
  FormatSpec spec = given;
  if (spec.align == '0') spec.align = '=';
  RETURN_IF_ERROR(heap.CheckString(static_cast<uint64_t>(spec.precision.value_or(6)) + 400));
  const bool negative = std::signbit(value) && !std::isnan(value);
  const std::string digits = RealDigits(std::abs(value), spec);
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  const std::string sign(SignOf(negative, spec.sign));
  if (whole == 0) return Assemble(heap, sign, digits, "", spec);
  return Assemble(heap, sign, digits.substr(0, whole), digits.substr(whole), spec);
}

absl::StatusOr<Text> FormatValue(Heap& heap, const Value& value, const FormatSpec& spec) {
  if (spec.plain) return ToText(heap, value);
  constexpr std::string_view kWholeTypes("\0dboxXn", 7);
  constexpr std::string_view kRealTypes("\0eEfFgGn%", 9);
  if (value.is_string()) return FormatString(heap, value, spec);
  if (value.is_whole()) {
    if (spec.type == 'c') {
      if (value.integer() < 0 || value.integer() > 0x10FFFF) return InvalidArgument("%c arg not in range(0x110000)");
      std::string character;
      AppendUtf8(character, static_cast<char32_t>(value.integer()));
      return Pad(heap, Text(character, true), spec, '<');
    }
    if (kWholeTypes.find(spec.type) != kWholeTypes.npos) {
      if (spec.precision) return InvalidArgument("precision not allowed in integer format specifier");
      return FormatInteger(heap, value.integer(), spec);
    }
  }
  if (value.is_number()) {
    if (kRealTypes.find(spec.type) == kRealTypes.npos) return UnknownCode(spec.type, value);
    return FormatReal(heap, value.number(), spec);
  }
  return InvalidArgument("unsupported format string passed to {}.__format__", value.TypeName());
}

}  // namespace inferd::chat_template
