// What pre-tokenizers and normalizers ask of a code point: its general category, white space, lower case, parts.
//
//   const UnicodeTable& unicode = UnicodeTable::Get();
//   if (unicode.Is(kLetters, U'é')) ...
//
// Source: the Unicode Character Database, through make_unicode_data.py.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {

enum class Category : uint8_t {
  kCn,
  kCc,
  kCf,
  kCo,
  kCs,
  kLl,
  kLm,
  kLo,
  kLt,
  kLu,
  kMc,
  kMe,
  kMn,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPe,
  kPf,
  kPi,
  kPo,
  kPs,
  kSc,
  kSk,
  kSm,
  kSo,
  kZl,
  kZp,
  kZs
};

// A set of categories: bit c for category c. Two more bits tell white space and Han.
using CharacterSet = uint32_t;
template <typename... Categories>
constexpr CharacterSet SetOf(Categories... categories) {
  return ((CharacterSet{1} << static_cast<int>(categories)) | ...);
}
constexpr CharacterSet kLetters = SetOf(Category::kLl, Category::kLm, Category::kLo, Category::kLt, Category::kLu);
constexpr CharacterSet kMarks = SetOf(Category::kMc, Category::kMe, Category::kMn);
constexpr CharacterSet kNumbers = SetOf(Category::kNd, Category::kNl, Category::kNo);
constexpr CharacterSet kPunctuation =
    SetOf(Category::kPc, Category::kPd, Category::kPe, Category::kPf, Category::kPi, Category::kPo, Category::kPs);
constexpr CharacterSet kSymbols = SetOf(Category::kSc, Category::kSk, Category::kSm, Category::kSo);
constexpr CharacterSet kCategories = (CharacterSet{1} << 30) - 1;
constexpr CharacterSet kHan = CharacterSet{1} << 30;         // the script Han, beside the category
constexpr CharacterSet kWhiteSpace = CharacterSet{1} << 31;  // the property White_Space, instead of the category

class UnicodeTable {
 public:
  static const UnicodeTable& Get();

  // What the code point is, to intersect with sets. A broken character is a symbol.
  CharacterSet Of(char32_t code_point) const {
    return code_point < kCodePoints ? sets_[pages_[code_point >> 8]][code_point & 0xFF] : SetOf(Category::kSo);
  }
  bool Is(CharacterSet set, char32_t code_point) const { return (Of(code_point) & set) != 0; }

 private:
  static constexpr char32_t kCodePoints = 0x110000;
  using Page = std::array<CharacterSet, 256>;

  UnicodeTable();
  static Page MakePage(char32_t first);

  std::array<uint16_t, kCodePoints / 256> pages_;  // index into sets_
  std::vector<Page> sets_;                         // each kind of page once
};

// Simple mapping; the code point itself if it has none.
char32_t LowercaseOf(char32_t code_point);

// Appends the full canonical decomposition (NFD), without reordering the marks: callers drop those.
void AppendDecomposition(char32_t code_point, std::vector<char32_t>& parts);

}  // namespace inferd::tokenizer
