#include "engine/tokenizer/unicode.h"

#include <algorithm>

#include "engine/tokenizer/unicode_data.h"

namespace inferd::tokenizer {
namespace {

constexpr uint8_t kWhiteSpaceBit = 0x20;
constexpr uint8_t kCategoryMask = 0x1F;

struct CodePointRange {
  char32_t first, last;
};
// Scripts.txt of Unicode 14.
constexpr CodePointRange kHanRanges[] = {
    {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},   {0x3007, 0x3007},
    {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},
    {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3}, {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B738},
    {0x2B740, 0x2B81D}, {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2F800, 0x2FA1D}, {0x30000, 0x3134A}};

CharacterSet SetOfValue(uint8_t value) {
  return (value & kWhiteSpaceBit) != 0 ? kWhiteSpace : CharacterSet{1} << (value & kCategoryMask);
}

}  // namespace

const UnicodeTable& UnicodeTable::Get() {
  static const UnicodeTable table;
  return table;
}

UnicodeTable::UnicodeTable() {
  for (char32_t first = 0; first < kCodePoints; first += 256) {
    const Page page = MakePage(first);
    // Most pages are of one category and equal to the page before them.
    if (sets_.empty() || sets_.back() != page) sets_.push_back(page);
    pages_[first >> 8] = static_cast<uint16_t>(sets_.size() - 1);
  }
}

UnicodeTable::Page UnicodeTable::MakePage(char32_t first) {
  const CategoryRange* const end = kCategoryRanges + kCategoryRangeCount;
  const CategoryRange* range = std::upper_bound(
      kCategoryRanges, end, first, [](char32_t wanted, const CategoryRange& entry) { return wanted < entry.first; });
  Page page;
  for (char32_t offset = 0; offset < 256; ++offset) {
    if (range != end && range->first == first + offset) ++range;
    page[offset] = SetOfValue(range[-1].value);
  }
  for (const CodePointRange& han : kHanRanges) {
    for (char32_t at = std::max(han.first, first); at <= std::min<char32_t>(han.last, first + 255); ++at)
      page[at - first] |= kHan;
  }
  return page;
}

char32_t LowercaseOf(char32_t code_point) {
  const LowercasePair* end = kLowercasePairs + kLowercasePairCount;
  const LowercasePair* pair =
      std::lower_bound(kLowercasePairs, end, code_point,
                       [](const LowercasePair& entry, char32_t wanted) { return entry.from < wanted; });
  return pair != end && pair->from == code_point ? pair->to : code_point;
}

void AppendDecomposition(char32_t code_point, std::vector<char32_t>& parts) {
  // Hangul syllables decompose by arithmetic (The Unicode Standard, section 3.12).
  constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
  if (code_point >= kSyllables && code_point < kSyllables + 11172) {
    const char32_t index = code_point - kSyllables;
    parts.push_back(kLeads + index / 588);
    parts.push_back(kVowels + index % 588 / 28);
    if (index % 28 != 0) parts.push_back(kTails + index % 28);
    return;
  }
  const Decomposition* end = kDecompositions + kDecompositionCount;
  const Decomposition* entry = std::lower_bound(
      kDecompositions, end, code_point, [](const Decomposition& item, char32_t wanted) { return item.from < wanted; });
  if (entry == end || entry->from != code_point) {
    parts.push_back(code_point);
    return;
  }
  AppendDecomposition(entry->first, parts);
  if (entry->second != 0) AppendDecomposition(entry->second, parts);
}

}  // namespace inferd::tokenizer
