#include "engine/constraint/text_cursor.h"

#include <algorithm>

#include "engine/constraint/char_set.h"

namespace inferd::constraint {
namespace {

constexpr uint64_t kLargest = 4'000'000'000;

std::optional<uint32_t> HexDigit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> TextCursor::TakeChar() {
  if (AtEnd()) return std::nullopt;
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text_[at_ + i])); };
  const uint32_t lead = byte(0);
  const size_t bytes = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
  if (bytes == 0 || at_ + bytes > text_.size()) return std::nullopt;
  uint32_t code = bytes == 1 ? lead : lead & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > kLastChar || IsSurrogate(code)) return std::nullopt;
  at_ += bytes;
  return code;
}

std::optional<uint32_t> TextCursor::TakeNumber() {
  std::optional<uint64_t> number;
  for (; !AtEnd() && Peek() >= '0' && Peek() <= '9'; ++at_) {
    number = std::min(number.value_or(0) * 10 + static_cast<uint64_t>(Peek() - '0'), kLargest);
  }
  if (!number) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::optional<uint32_t> TextCursor::TakeHex(int least_digits, int most_digits) {
  uint32_t number = 0;
  int digits = 0;
  for (; !AtEnd() && digits < most_digits; ++digits, ++at_) {
    const std::optional<uint32_t> digit = HexDigit(Peek());
    if (!digit) break;
    number = number << 4 | *digit;
  }
  if (digits < least_digits) return std::nullopt;
  return number;
}

}  // namespace inferd::constraint
