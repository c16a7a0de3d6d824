#include "engine/template/string_literal.h"

#include <charconv>
#include <cstdint>

#include "config/base/status.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

// The character of a one-letter escape; '\0': none.
char SimpleEscape(char letter) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kCharacters = "\\'\"\a\b\f\n\r\t\v";
  const size_t found = kLetters.find(letter);
  return found == kLetters.npos ? '\0' : kCharacters[found];
}

// Reads exactly `digits` hexadecimal digits at `offset`.
absl::StatusOr<uint32_t> ReadHexadecimal(std::string_view literal, size_t offset, size_t digits) {
  uint32_t number = 0;
  const std::string_view text = literal.substr(offset, digits);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() < digits || end != text.data() + digits || error != std::errc()) {
    return InvalidArgument("truncated \\{}{} escape", literal[offset - 1], std::string(digits, 'X'));
  }
  return number;
}

bool IsHighSurrogate(uint32_t number) { return number >= 0xD800 && number < 0xDC00; }
bool IsLowSurrogate(uint32_t number) { return number >= 0xDC00 && number < 0xE000; }

// A \x, \u or \U escape whose letter is at `offset`, which moves behind it. A surrogate pair is one code point.
absl::Status AppendHexadecimal(std::string_view literal, size_t& offset, std::string& out) {
  const size_t digits = literal[offset] == 'x' ? 2 : literal[offset] == 'u' ? 4 : 8;
  ASSIGN_OR_RETURN(uint32_t number, ReadHexadecimal(literal, offset + 1, digits));
  offset += 1 + digits;
  if (IsHighSurrogate(number) && literal.substr(offset).starts_with("\\u")) {
    ASSIGN_OR_RETURN(const uint32_t low, ReadHexadecimal(literal, offset + 2, 4));
    if (IsLowSurrogate(low)) {
      number = 0x10000 + ((number - 0xD800) << 10) + (low - 0xDC00);
      offset += 6;
    }
  }
  if (number > 0x10FFFF || IsHighSurrogate(number) || IsLowSurrogate(number)) {
    return InvalidArgument("the escape of U+{:04X} is not a character", number);
  }
  AppendUtf8(out, number);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ResolveEscapes(std::string_view literal) {
  std::string out;
  for (size_t at = 0; at < literal.size();) {
    if (literal[at] != '\\' || at + 1 >= literal.size()) {
      out.push_back(literal[at++]);
      continue;
    }
    const char letter = literal[++at];
    if (letter == '\n') {
      ++at;  // a continued line
    } else if (letter >= '0' && letter <= '7') {
      uint32_t number = 0;
      for (size_t digits = 0; digits < 3 && at < literal.size() && literal[at] >= '0' && literal[at] <= '7'; ++digits) {
        number = number * 8 + static_cast<uint32_t>(literal[at++] - '0');
      }
      AppendUtf8(out, number);
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      RETURN_IF_ERROR(AppendHexadecimal(literal, at, out));
    } else if (letter == 'N') {
      return InvalidArgument("\\N escapes (characters by name) are not supported");
    } else {
      if (const char simple = SimpleEscape(letter); simple != '\0') {
        out.push_back(simple);
      } else {
        out.push_back('\\');
        out.push_back(letter);
      }
      ++at;
    }
  }
  return out;
}

}  // namespace inferd::chat_template
