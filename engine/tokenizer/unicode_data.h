// The raw Unicode tables behind unicode.h; see make_unicode_data.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace inferd::tokenizer {

struct CategoryRange {
  uint32_t first;  // the range ends where the next begins
  uint8_t value;   // Category, with kWhiteSpaceBit
};
struct LowercasePair {
  uint32_t from, to;
};
struct Decomposition {
  uint32_t from, first, second;  // canonical; second is 0 if there is none
};

extern const CategoryRange kCategoryRanges[];
extern const size_t kCategoryRangeCount;
extern const LowercasePair kLowercasePairs[];
extern const size_t kLowercasePairCount;
extern const Decomposition kDecompositions[];
extern const size_t kDecompositionCount;

}  // namespace inferd::tokenizer
