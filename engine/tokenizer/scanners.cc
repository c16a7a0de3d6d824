#include "engine/tokenizer/scanners.h"

#include <algorithm>
#include <cstdint>

#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

constexpr CharacterSet kOther = ~(kLetters | kNumbers | kWhiteSpace);  // [^\s\p{L}\p{N}]

// The character at a place: its set, and where the next one begins. At the end of the text: an empty set.
struct Place {
  CharacterSet set;
  const char* next;
};

class Reader {
 public:
  explicit Reader(const char* end) : unicode_(UnicodeTable::Get()), end_(end) {}

  Place At(const char* at) const {
    if (at == end_) return {0, at};
    const uint8_t byte = static_cast<uint8_t>(*at);
    if (byte < 0x80) return {unicode_.Of(byte), at + 1};
    const Character character = DecodeUtf8(at, end_);
    return {unicode_.Of(character.code_point), at + character.bytes};
  }
  // The end of the run of characters of `set` from `at` on, of `limit` at most.
  const char* SkipAll(CharacterSet set, const char* at, int limit = INT32_MAX) const {
    for (Place place = At(at); limit-- > 0 && (place.set & set) != 0; place = At(at)) at = place.next;
    return at;
  }
  const char* SkipNewlines(const char* at) const {
    while (IsNewline(at)) ++at;
    return at;
  }
  bool IsNewline(const char* at) const { return at < end_ && (*at == '\n' || *at == '\r'); }
  // Just behind the last newline in [at, end); `at` if there is none.
  static const char* BehindLastNewline(const char* at, const char* end) {
    while (end > at && end[-1] != '\n' && end[-1] != '\r') --end;
    return end;
  }
  const char* end() const { return end_; }

 private:
  const UnicodeTable& unicode_;
  const char* end_;
};

// \s+(?!\S)|\s+ where a white space begins: the run, less its last character if a word follows.
const char* ScanSpaces(const Reader& reader, const char* at) {
  const char* last = at;  // where the last white space begins
  const char* stop = at;
  for (Place place = reader.At(at); (place.set & kWhiteSpace) != 0; place = reader.At(stop)) {
    last = stop;
    stop = place.next;
  }
  return stop == reader.end() || last == at ? stop : last;
}

// 's|'t|'re|'ve|'m|'ll|'d where an apostrophe stands; nullptr if none of them follows.
// Without regard to case U+017F (long s) is an s too (Unicode case folding).
const char* ScanContraction(const Reader& reader, const char* at, bool any_case) {
  const auto letter = [&](int index) -> char {
    if (reader.end() - at <= index) return 0;
    return any_case && at[index] >= 'A' && at[index] <= 'Z' ? static_cast<char>(at[index] + 32) : at[index];
  };
  const char first = letter(1), second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) {
    return at + 3;
  }
  if (any_case && reader.end() - at >= 3 && at[1] == '\xC5' && at[2] == '\xBF') return at + 3;
  return nullptr;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?WORD+|\p{N}{1,DIGITS}| ?OTHER+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// where WORD are letters, with `kWithMarks` also marks, and OTHER what is neither WORD, number nor white space.
template <int kDigits, CharacterSet kWord>
const char* ScanCl100kLike(const char* at, const char* end) {
  constexpr CharacterSet kNeither = kOther & ~kWord;
  const Reader reader(end);
  const Place first = reader.At(at);
  if (*at == '\'') {
    if (const char* stop = ScanContraction(reader, at, true)) return stop;
  }
  if ((first.set & kLetters) != 0) return reader.SkipAll(kWord, first.next);
  if ((first.set & kNumbers) != 0) return reader.SkipAll(kNumbers, at, kDigits);
  if (!reader.IsNewline(at)) {
    if ((reader.At(first.next).set & kWord) != 0) return reader.SkipAll(kWord, first.next);
    if ((first.set & kWord) != 0) return first.next;  // a lone mark
  }
  const char* others = *at == ' ' ? first.next : at;
  if ((reader.At(others).set & kNeither) != 0) return reader.SkipNewlines(reader.SkipAll(kNeither, others));
  const char* newlines = Reader::BehindLastNewline(at, reader.SkipAll(kWhiteSpace, at));
  return newlines > at ? newlines : ScanSpaces(reader, at);
}

// Isolated characters that `wanted` tells, up to `limit` together, and the runs between them.
template <typename Wanted>
const char* ScanIsolated(const Reader& reader, const char* at, int limit, const Wanted& wanted) {
  const bool inside = wanted(at);
  const char* stop = at;
  do {
    stop = reader.At(stop).next;
  } while (stop < reader.end() && wanted(stop) == inside && (!inside || --limit > 0));
  return stop;
}

}  // namespace

const char* ScanGpt2(const char* at, const char* end) {
  const Reader reader(end);
  if (*at == '\'') {
    if (const char* stop = ScanContraction(reader, at, false)) return stop;
  }
  const char* word = *at == ' ' && at + 1 < end ? at + 1 : at;
  const Place first = reader.At(word);
  for (const CharacterSet set : {kLetters, kNumbers, kOther}) {
    if ((first.set & set) != 0) return reader.SkipAll(set, first.next);
  }
  return ScanSpaces(reader, at);
}

const char* ScanCl100k(const char* at, const char* end) { return ScanCl100kLike<3, kLetters>(at, end); }
const char* ScanCl100kDigit(const char* at, const char* end) { return ScanCl100kLike<1, kLetters>(at, end); }
const char* ScanMarkedDigit(const char* at, const char* end) { return ScanCl100kLike<1, kLetters | kMarks>(at, end); }

const char* ScanDigit(const char* at, const char* end) {
  const Reader reader(end);
  return ScanIsolated(reader, at, 1, [&](const char* place) { return (reader.At(place).set & kNumbers) != 0; });
}

const char* ScanThreeDigits(const char* at, const char* end) {
  const Reader reader(end);
  return ScanIsolated(reader, at, 3, [&](const char* place) { return (reader.At(place).set & kNumbers) != 0; });
}

const char* ScanNewline(const char* at, const char* end) {
  const Reader reader(end);
  return ScanIsolated(reader, at, 1, [&](const char* place) { return reader.IsNewline(place); });
}

}  // namespace inferd::tokenizer
