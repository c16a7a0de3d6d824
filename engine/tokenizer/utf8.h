// UTF-8 one character at a time, without assuming that the bytes are sound.
//
//   for (const char* at = begin; at < end;) {
//     Character character = DecodeUtf8(at, end);
//     at += character.bytes;
//   }
#pragma once

#include <cstdint>
#include <string>

namespace inferd::tokenizer {

constexpr char32_t kBrokenCharacter = 0xFFFFFFFF;

struct Character {
  char32_t code_point;  // kBrokenCharacter: no character begins here
  uint32_t bytes;       // 1 for a broken one
};

// Strict (The Unicode Standard, table 3-7): no surrogates, no overlong forms, nothing above U+10FFFF. Needs at < end.
inline Character DecodeUtf8(const char* at, const char* end) {
  const auto byte = [at](int index) { return static_cast<uint8_t>(at[index]); };
  const auto continues = [&](int index) { return (byte(index) & 0xC0) == 0x80; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const auto available = end - at;
  if (lead >= 0xC2 && lead < 0xE0 && available >= 2 && continues(1)) {
    return {(lead & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
  }
  if (lead >= 0xE0 && lead < 0xF0 && available >= 3 && continues(1) && continues(2)) {
    const char32_t code_point = (lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    if (code_point >= 0x800 && (code_point < 0xD800 || code_point > 0xDFFF)) return {code_point, 3};
  }
  if (lead >= 0xF0 && lead < 0xF5 && available >= 4 && continues(1) && continues(2) && continues(3)) {
    const char32_t code_point =
        (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
    if (code_point >= 0x10000 && code_point <= 0x10FFFF) return {code_point, 4};
  }
  return {kBrokenCharacter, 1};
}

inline void AppendUtf8(char32_t code_point, std::string& text) {
  const auto tail = [&](int shift) { text.push_back(static_cast<char>(0x80 | (code_point >> shift & 0x3F))); };
  if (code_point < 0x80) {
    text.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    text.push_back(static_cast<char>(0xC0 | code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    text.push_back(static_cast<char>(0xE0 | code_point >> 12));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<char>(0xF0 | code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace inferd::tokenizer
