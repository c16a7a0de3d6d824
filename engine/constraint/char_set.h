// Sets of Unicode characters, and how UTF-8 spells them.
//
//   CharSet vowels{{'a', 'a'}, {'e', 'e'}};
//   CharSet others = vowels.Complement();        // of all characters
//   for (const ByteSequence& bytes : Utf8Of(others)) ...
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace inferd::constraint {

struct CharRange {
  uint32_t first, last;  // both belong to it
  bool operator==(const CharRange&) const = default;
};

constexpr uint32_t kLastChar = 0x10FFFF;
inline bool IsSurrogate(uint32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

class CharSet {
 public:
  CharSet() = default;
  CharSet(std::initializer_list<CharRange> ranges);
  // All characters; surrogates are none.
  static CharSet Any() { return {{0, 0xD7FF}, {0xE000, kLastChar}}; }

  void Add(uint32_t first, uint32_t last);
  void Add(const CharSet& other);
  CharSet Complement() const;
  CharSet Minus(const CharSet& other) const;
  CharSet Intersect(const CharSet& other) const { return Minus(other.Complement()); }

  bool Has(uint32_t code) const;
  bool empty() const { return ranges_.empty(); }
  // Ascending, with gaps between them.
  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool operator==(const CharSet&) const = default;

 private:
  std::vector<CharRange> ranges_;
};

using ByteSet = std::bitset<256>;
// One byte of each set, in order.
using ByteSequence = std::vector<ByteSet>;

// The spellings of all characters of the set: each is one sequence's, and no other text is. Surrogates are left out.
std::vector<ByteSequence> Utf8Of(const CharSet& set);

void AppendUtf8(uint32_t code, std::string& text);

}  // namespace inferd::constraint
