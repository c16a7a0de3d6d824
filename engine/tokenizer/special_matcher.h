// Finds special tokens in text: user-defined tokens anywhere, protected ones only where the text is trusted.
//
//   SpecialMatcher matcher(vocabulary, data);
//   matcher.Split(text, {{0, 12}}, fragments);   // bytes 0 to 11 were written by the template
//
// The leftmost token wins, the longest of those that begin there, as in the tokenizers library. A protected token
// counts only if all of its bytes lie in one trusted range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/tokenizer/prefix_set.h"
#include "engine/tokenizer/vocabulary.h"

namespace inferd::tokenizer {

struct ByteRange {
  size_t begin, end;
};

// A special token, or a range of text that has none.
struct Fragment {
  int32_t token;  // -1: text
  ByteRange text;
};

class SpecialMatcher {
 public:
  SpecialMatcher(const Vocabulary& vocabulary, const VocabularyData& data);

  // trusted: ascending ranges that neither touch nor overlap. Appends to `fragments`.
  void Split(std::string_view text, std::span<const ByteRange> trusted, std::vector<Fragment>& fragments) const;

 private:
  struct Match {
    int32_t id = -1;
    size_t bytes = 0;
  };
  // trusted_end: where the trusted range that holds `at` ends; `at` itself outside of any.
  Match LongestAt(std::string_view text, size_t at, size_t trusted_end) const;

  const Vocabulary& vocabulary_;
  PrefixSet tokens_;
  std::vector<bool> strips_left_, strips_right_;  // by id: tokens that swallow the white space beside them; or empty
};

}  // namespace inferd::tokenizer
