// SentencePiece writes a space as U+2581; this is all about that character.
//
//   std::string spelled = SpelledSpaces("to be", {.prefix = true});   // "▁to▁be"
//   PlainSpaces("▁be");                                               // " be"
#pragma once

#include <bitset>
#include <string>
#include <string_view>

#include "engine/tokenizer/vocabulary.h"

namespace inferd::tokenizer {

inline constexpr std::string_view kSpelledSpace = "\xE2\x96\x81";

struct SpaceOptions {
  bool prefix = false;        // a space before the text
  bool remove_extra = false;  // one space between words, none at the ends
};

// The text with its spaces spelled; empty for an empty text.
std::string SpelledSpaces(std::string_view text, SpaceOptions options);

// Spelled spaces become spaces again.
std::string PlainSpaces(std::string_view spelling);

// Appends the tokens of the bytes of `text`, which no token spells: the way out of vocabularies with byte tokens. If a
// byte has none, the unknown token stands for all of it; INVALID_ARGUMENT names the byte if there is none of that
// either.
absl::Status AppendByteTokens(const Vocabulary& vocabulary, std::string_view text, std::vector<int32_t>& ids);

// The bytes of a token whose text spells spaces: of a byte token the byte.
std::string BytesOfSpelledToken(const Vocabulary& vocabulary, int32_t id);

// Cuts text with spelled spaces into words that no token can reach across, so that each can be merged by itself.
class SpelledWords {
 public:
  explicit SpelledWords(const Vocabulary& vocabulary);

  // Where the word ends that begins at `at`: before a spelled space that follows another character, unless some token
  // of the vocabulary holds a character that ends like that one and a spelled space behind it.
  size_t EndOfWord(std::string_view text, size_t at) const;

 private:
  std::bitset<256> joined_;  // last bytes of characters that a spelled space follows in some token
};

}  // namespace inferd::tokenizer
