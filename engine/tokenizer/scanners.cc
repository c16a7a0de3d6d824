#include "engine/tokenizer/scanners.h"

#include "engine/tokenizer/character_reader.h"

namespace inferd::tokenizer {
namespace {

constexpr int kAnyNumber = INT32_MAX;
enum class Tail { kNone, kNewlines, kNewlinesAndSlashes };  // what belongs to the symbols before it

// What patterns end with:  ?OTHER+TAIL|\s*[\r\n]+|\s+(?!\S)|\s+
template <CharacterSet kOther, Tail kTail>
const char* ScanSymbolsAndSpaces(const CharacterReader& reader, const char* at) {
  const char* symbols = *at == ' ' ? at + 1 : at;
  if (reader.Is(kOther, symbols)) {
    const char* stop = reader.Skip(kOther, symbols);
    if (kTail == Tail::kNone) return stop;
    while (reader.IsNewline(stop) || (kTail == Tail::kNewlinesAndSlashes && stop < reader.end() && *stop == '/'))
      ++stop;
    return stop;
  }
  const char* newlines = CharacterReader::BehindLastNewline(at, reader.Skip(kWhiteSpace, at));
  return newlines > at ? newlines : reader.SkipSpaces(at);
}

// (?i:'s|...)|[^\r\n\p{L}\p{N}]?WORD+|\p{N}{1,DIGITS}, then symbols and spaces. WORD holds the letters.
struct Cl100kOptions {
  int digits = 1;
  CharacterSet word = kLetters;
  bool contractions = true;
  Tail tail = Tail::kNewlines;
};
template <Cl100kOptions kOptions>
const char* ScanCl100kWord(const CharacterReader& reader, const char* at) {
  if (kOptions.contractions) {
    if (const char* stop = reader.SkipContraction(at, true)) return stop;
  }
  const Place first = reader.At(at);
  if ((first.set & kLetters) != 0) return reader.Skip(kOptions.word, first.next);
  if ((first.set & kNumbers) != 0) return reader.Skip(kNumbers, at, kOptions.digits);
  if (!reader.IsNewline(at)) {
    const char* stop = reader.Skip(kOptions.word, first.next);
    if (stop > first.next || (first.set & kOptions.word) != 0) return stop;
  }
  return ScanSymbolsAndSpaces<kCategories & ~(kOptions.word | kNumbers), kOptions.tail>(reader, at);
}

constexpr CharacterSet kCapitals = SetOf(Category::kLu, Category::kLt, Category::kLm, Category::kLo) | kMarks;
constexpr CharacterSet kSmalls = SetOf(Category::kLl, Category::kLm, Category::kLo) | kMarks;

// CAPITAL*SMALL+ at `at`; nullptr if it does not match. The capitals that come first give back as few as they must.
const char* ScanCapitalized(const CharacterReader& reader, const char* at, CharacterSet without) {
  const auto in = [without](CharacterSet set, const Place& place) {
    return (place.set & set) != 0 && (place.set & without) == 0;
  };
  const char* behind_both = nullptr;  // behind the last capital that is a small one too
  Place place = reader.At(at);
  for (; in(kCapitals, place); place = reader.At(at)) {
    at = place.next;
    if (in(kSmalls, place)) behind_both = at;
  }
  if (!in(kSmalls, place)) return behind_both;
  for (; in(kSmalls, place); place = reader.At(at)) at = place.next;
  return at;
}

// [^\r\n\p{L}\p{N}]?CAPITAL*SMALL+SUFFIX?|[^\r\n\p{L}\p{N}]?CAPITAL+SMALL*SUFFIX?|\p{N}{1,DIGITS}, then symbols and
// spaces; SUFFIX are the contractions. With `han` runs of Han come first and are no capitals and no small letters.
struct O200kOptions {
  int digits = 3;
  bool contractions = true;
  bool han = false;
  Tail tail = Tail::kNewlinesAndSlashes;
};
template <O200kOptions kOptions>
const char* ScanO200kWord(const CharacterReader& reader, const char* at) {
  constexpr CharacterSet kWithout = kOptions.han ? kHan : 0;
  const Place first = reader.At(at);
  if ((first.set & kWithout) != 0) return reader.Skip(kWithout, at);
  if ((first.set & kNumbers) != 0) return reader.Skip(kNumbers, at, kOptions.digits);
  const bool letter = (first.set & kLetters) != 0;
  const char* stop = nullptr;
  if (!letter && !reader.IsNewline(at)) stop = ScanCapitalized(reader, first.next, kWithout);
  if (stop == nullptr && (letter || (first.set & kMarks) != 0)) stop = ScanCapitalized(reader, at, kWithout);
  if (stop == nullptr && !reader.IsNewline(at)) {  // capitals alone
    const char* capitals = letter ? at : first.next;
    stop = reader.Skip(kCapitals & ~kSmalls, capitals);
    if (stop == capitals) stop = nullptr;
  }
  if (stop == nullptr) return ScanSymbolsAndSpaces<kCategories & ~(kLetters | kNumbers), kOptions.tail>(reader, at);
  const char* suffix = kOptions.contractions ? reader.SkipContraction(stop, true) : nullptr;
  return suffix != nullptr ? suffix : stop;
}

const char* ScanGpt2Word(const CharacterReader& reader, const char* at) {
  if (const char* stop = reader.SkipContraction(at, false)) return stop;
  const Place first = reader.At(*at == ' ' && at + 1 < reader.end() ? at + 1 : at);
  for (const CharacterSet set : {kLetters, kNumbers, kCategories & ~(kLetters | kNumbers)}) {
    if ((first.set & set) != 0) return reader.Skip(set, first.next);
  }
  return reader.SkipSpaces(at);
}

// Letters with their marks, with at most one space before each but the first; a number; then symbols and spaces.
const char* ScanSpacedWord(const CharacterReader& reader, const char* at) {
  if (const char* stop = reader.SkipContraction(at, true)) return stop;
  const Place first = reader.At(at);
  if ((first.set & kNumbers) != 0) return first.next;
  const char* letter = (first.set & kLetters) != 0 || reader.IsNewline(at) ? at : first.next;
  const char* stop = nullptr;
  while (reader.Is(kLetters, letter)) {
    stop = reader.Skip(kMarks, reader.At(letter).next);
    letter = stop < reader.end() && *stop == ' ' ? stop + 1 : stop;
  }
  if (stop != nullptr) return stop;
  constexpr CharacterSet kSymbols = kCategories & ~(kLetters | kNumbers);
  stop = ScanSymbolsAndSpaces<kSymbols, Tail::kNone>(reader, at);
  const bool symbols = reader.Is(kSymbols, *at == ' ' ? at + 1 : at);
  return symbols && reader.IsNewline(stop) ? stop + 1 : stop;
}

}  // namespace

#define WORD_SCANNER(Name, next)                                                   \
  void Name(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends) { \
    const CharacterReader reader(text.data() + text.size());                       \
    for (const char* at = text.data(); at < reader.end();) {                       \
      at = next(reader, at);                                                       \
      ends.push_back(offset + static_cast<uint32_t>(at - text.data()));            \
    }                                                                              \
  }
WORD_SCANNER(ScanGpt2, ScanGpt2Word)
WORD_SCANNER(ScanCl100k, ScanCl100kWord<Cl100kOptions{.digits = 3}>)
WORD_SCANNER(ScanCl100kDigit, ScanCl100kWord<Cl100kOptions{}>)
WORD_SCANNER(ScanCl100kDigits, ScanCl100kWord<Cl100kOptions{.digits = kAnyNumber}>)
WORD_SCANNER(ScanQwen35, ScanCl100kWord<Cl100kOptions{.word = kLetters | kMarks}>)
WORD_SCANNER(ScanSeedCoder, ScanCl100kWord<Cl100kOptions{.tail = Tail::kNone}>)
WORD_SCANNER(ScanUfakzeka, ScanCl100kWord<Cl100kOptions{.contractions = false}>)
WORD_SCANNER(ScanO200k, ScanO200kWord<O200kOptions{}>)
WORD_SCANNER(ScanO200kDigit, ScanO200kWord<O200kOptions{.digits = 1}>)
WORD_SCANNER(ScanTekken, (ScanO200kWord<O200kOptions{.digits = 1, .contractions = false}>))
WORD_SCANNER(ScanKimiK2, (ScanO200kWord<O200kOptions{.han = true, .tail = Tail::kNewlines}>))
WORD_SCANNER(ScanExaoneMoe, ScanSpacedWord)
#undef WORD_SCANNER

}  // namespace inferd::tokenizer
