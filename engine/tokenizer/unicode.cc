#include "engine/tokenizer/unicode.h"

#include <algorithm>

#include "engine/tokenizer/unicode_data.h"

namespace inferd::tokenizer {
namespace {

constexpr uint8_t kWhiteSpaceBit = 0x20;
constexpr uint8_t kCategoryMask = 0x1F;

CharacterSet SetOfValue(uint8_t value) {
  return (value & kWhiteSpaceBit) != 0 ? kWhiteSpace : CharacterSet{1} << (value & kCategoryMask);
}

}  // namespace

const UnicodeTable& UnicodeTable::Get() {
  static const UnicodeTable table;
  return table;
}

UnicodeTable::UnicodeTable() {
  size_t range = 0;
  for (char32_t first = 0; first < kCodePoints; first += 256) {
    Page page;
    for (char32_t offset = 0; offset < 256; ++offset) {
      while (range + 1 < kCategoryRangeCount && kCategoryRanges[range + 1].first <= first + offset) ++range;
      page[offset] = SetOfValue(kCategoryRanges[range].value);
    }
    // A page of one set, as most are, looks like the page before it.
    if (sets_.empty() || sets_.back() != page) sets_.push_back(page);
    pages_[first >> 8] = static_cast<uint16_t>(sets_.size() - 1);
  }
}

char32_t LowercaseOf(char32_t code_point) {
  const LowercasePair* end = kLowercasePairs + kLowercasePairCount;
  const LowercasePair* pair = std::lower_bound(
      kLowercasePairs, end, code_point, [](const LowercasePair& entry, char32_t wanted) { return entry.from < wanted; });
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
