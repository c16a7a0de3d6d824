// The table of well-formed byte sequences is Unicode 15, table 3-7.
#include "engine/output/utf8_assembler.h"

#include <cstdint>

namespace inferd::output {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Range {
  uint8_t low, high;
};

// Length of the character that begins with this byte (0: none does) and the range of its second byte.
int LengthOf(uint8_t lead, Range& second) {
  second = {0x80, 0xBF};
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) {
    if (lead == 0xE0) second.low = 0xA0;
    if (lead == 0xED) second.high = 0x9F;
    return 3;
  }
  if (lead > 0xF4) return 0;
  if (lead == 0xF0) second.low = 0x90;
  if (lead == 0xF4) second.high = 0x8F;
  return 4;
}

// Bytes at the start of `text` that are (the beginning of) one character; `whole` tells which. 0: none.
size_t CharacterPart(std::string_view text, bool& whole) {
  Range range;
  const int length = LengthOf(static_cast<uint8_t>(text[0]), range);
  whole = false;
  if (length == 0) return 0;
  size_t size = 1;
  for (; size < static_cast<size_t>(length); ++size) {
    if (size == text.size()) return size;
    const uint8_t byte = static_cast<uint8_t>(text[size]);
    if (byte < range.low || byte > range.high) return size;
    range = {0x80, 0xBF};
  }
  whole = true;
  return size;
}

}  // namespace

std::string Utf8Assembler::Push(std::string_view bytes) {
  const std::string input = pending_.append(bytes);
  pending_.clear();
  std::string text;
  for (std::string_view rest = input; !rest.empty();) {
    bool whole;
    const size_t size = CharacterPart(rest, whole);
    if (!whole && size == rest.size()) {
      pending_ = rest;
      break;
    }
    text += whole ? rest.substr(0, size) : kReplacement;
    rest.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

std::string Utf8Assembler::Finish() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return std::string(unfinished ? kReplacement : "");
}

}  // namespace inferd::output
