// Walks over text by character sets: the vocabulary in which the scanners are written.
#pragma once

#include <cstdint>

#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {

// The character at a place: what it is, and where the next one begins. At the end of the text: an empty set.
struct Place {
  CharacterSet set;
  const char* next;
};

class CharacterReader {
 public:
  explicit CharacterReader(const char* end) : unicode_(UnicodeTable::Get()), end_(end) {}

  const char* end() const { return end_; }

  Place At(const char* at) const {
    if (at == end_) return {0, at};
    const uint8_t byte = static_cast<uint8_t>(*at);
    if (byte < 0x80) return {unicode_.Of(byte), at + 1};
    const Character character = DecodeUtf8(at, end_);
    return {unicode_.Of(character.code_point), at + character.bytes};
  }
  bool Is(CharacterSet set, const char* at) const { return (At(at).set & set) != 0; }

  // The end of the run of characters of `set` from `at` on, of `limit` characters at most.
  const char* Skip(CharacterSet set, const char* at, int limit = INT32_MAX) const {
    for (Place place = At(at); limit-- > 0 && (place.set & set) != 0; place = At(at)) at = place.next;
    return at;
  }

  bool IsNewline(const char* at) const { return at < end_ && (*at == '\n' || *at == '\r'); }
  // Just behind the last newline in [at, end); `at` if there is none.
  static const char* BehindLastNewline(const char* at, const char* end) {
    while (end > at && end[-1] != '\n' && end[-1] != '\r') --end;
    return end;
  }

  // \s+(?!\S)|\s+ where a white space begins: the run, less its last character if a word follows.
  const char* SkipSpaces(const char* at) const {
    const char* last = at;  // where the last white space begins
    const char* stop = at;
    for (Place place = At(at); (place.set & kWhiteSpace) != 0; place = At(stop)) {
      last = stop;
      stop = place.next;
    }
    return stop == end_ || last == at ? stop : last;
  }

  // 's|'t|'re|'ve|'m|'ll|'d where an apostrophe may stand; nullptr if none of them does.
  // Without regard to case U+017F (long s) is an s too (Unicode case folding).
  const char* SkipContraction(const char* at, bool any_case) const {
    const auto letter = [&](int index) -> char {
      if (end_ - at <= index) return 0;
      return any_case && at[index] >= 'A' && at[index] <= 'Z' ? static_cast<char>(at[index] + 32) : at[index];
    };
    if (letter(0) != '\'') return nullptr;
    const char first = letter(1), second = letter(2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) {
      return at + 3;
    }
    if (any_case && first == '\xC5' && second == '\xBF') return at + 3;
    return nullptr;
  }

 private:
  const UnicodeTable& unicode_;
  const char* end_;
};

}  // namespace inferd::tokenizer
