// The alphabet in which byte-level vocabularies are spelled: one printable character for each byte (GPT-2, encoder.py).
//
//   char spelling[8];
//   char* end = kByteAlphabet.Spell(" the", spelling);   // "Ġthe", 5 bytes
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace inferd::tokenizer {

class ByteAlphabet {
 public:
  constexpr ByteAlphabet() {
    for (auto& byte : bytes_) byte = -1;
    uint16_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
      letters_[byte] = printable ? static_cast<uint16_t>(byte) : next++;
      bytes_[letters_[byte]] = static_cast<int16_t>(byte);
    }
  }

  // The code point that stands for a byte; below 0x800, so one or two bytes of UTF-8.
  constexpr char32_t Letter(uint8_t byte) const { return letters_[byte]; }

  // The byte that a code point stands for, -1 if none.
  constexpr int Byte(char32_t code_point) const { return code_point < bytes_.size() ? bytes_[code_point] : -1; }

  // Writes the spelling of `raw` to `out`, which has room for twice its length; returns the end.
  char* Spell(std::string_view raw, char* out) const {
    for (const char character : raw) {
      const uint16_t letter = letters_[static_cast<uint8_t>(character)];
      if (letter < 0x80) {
        *out++ = static_cast<char>(letter);
      } else {
        *out++ = static_cast<char>(0xC0 | letter >> 6);
        *out++ = static_cast<char>(0x80 | (letter & 0x3F));
      }
    }
    return out;
  }

 private:
  std::array<uint16_t, 256> letters_{};
  std::array<int16_t, 256 + 68> bytes_{};
};

inline constexpr ByteAlphabet kByteAlphabet;

}  // namespace inferd::tokenizer
