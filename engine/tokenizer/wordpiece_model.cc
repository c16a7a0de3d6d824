// WordPiece (BERT): words of cleaned text, each spelled with the longest tokens from left to right or else unknown.
// Vocabularies mark the beginning of a word with a spelled space, where BERT's own mark the inside with ##.
#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/tokenizer/spaces.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

constexpr size_t kLongestWord_characters = 100;  // longer ones are unknown, as in BERT

// Control characters and the like; of those that are white space only tab and line ends are kept as such.
bool IsRemoved(char32_t code_point, CharacterSet set) {
  constexpr CharacterSet kControls = SetOf(Category::kCc, Category::kCf, Category::kCo, Category::kCs);
  return (set & kControls) != 0 || code_point == 0x0B || code_point == 0x0C || code_point == 0x85 ||
         code_point == 0xFFFD || code_point == kBrokenCharacter;
}

// CJK ideographs stand for themselves; the ranges of BERT's BasicTokenizer.
bool IsIdeograph(char32_t code_point) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                                       {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF},
                                                       {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code_point >= range.first && code_point <= range.second; });
}

bool IsPunctuation(char32_t code_point, CharacterSet set) {
  return (set & kPunctuation) != 0 || (code_point < 0x80 && (set & kSymbols) != 0);
}

struct CleanOptions {
  bool lowercase = true, strip_accents = true;
};

// Calls word(spelling, characters) for each word of the text, cleaned.
template <typename Word>
void ForEachWord(std::string_view text, CleanOptions options, const Word& word) {
  const UnicodeTable& unicode = UnicodeTable::Get();
  std::string spelling;
  size_t characters = 0;
  const auto flush = [&] {
    if (characters > 0) word(spelling, characters);
    spelling.clear();
    characters = 0;
  };
  const auto add = [&](char32_t code_point) {
    AppendUtf8(options.lowercase ? LowercaseOf(code_point) : code_point, spelling);
    ++characters;
    if (options.lowercase && code_point == U'\u0130') {  // the one letter whose lower case is two
      AppendUtf8(U'\u0307', spelling);
      ++characters;
    }
  };
  std::vector<char32_t> parts;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    const Character character = DecodeUtf8(at, text.data() + text.size());
    at += character.bytes;
    const CharacterSet set = unicode.Of(character.code_point);
    if (IsRemoved(character.code_point, set)) continue;
    if ((set & kWhiteSpace) != 0) {
      flush();
      continue;
    }
    const bool ideograph = IsIdeograph(character.code_point);
    if (ideograph) flush();
    parts.clear();
    if (options.strip_accents) {
      AppendDecomposition(character.code_point, parts);
    } else {
      parts.push_back(character.code_point);
    }
    for (const char32_t part : parts) {
      if (options.strip_accents && unicode.Is(SetOf(Category::kMn), part)) continue;
      const bool punctuation = IsPunctuation(part, unicode.Of(part));
      if (punctuation) flush();
      add(part);
      if (punctuation) flush();
    }
    if (ideograph) flush();
  }
  flush();
}

class WordPieceModel final : public SubwordModel {
 public:
  WordPieceModel(const Vocabulary& vocabulary, CleanOptions clean) : vocabulary_(vocabulary), clean_(clean) {}

  absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const override {
    ForEachWord(text, clean_, [&](const std::string& spelling, size_t characters) {
      const size_t before = ids.size();
      if (characters > kLongestWord_characters || !AppendPieces(std::string(kSpelledSpace) + spelling, ids)) {
        ids.resize(before);
        ids.push_back(*vocabulary_.unknown());
      }
    });
    return absl::OkStatus();
  }

  std::string TokenBytes(int32_t id) const override { return PlainSpaces(vocabulary_.spelling(id)); }
  bool adds_leading_space() const override { return true; }
  bool default_add_bos() const override { return true; }
  bool default_add_eos() const override { return true; }

 private:
  // False if a part of the word is no token.
  bool AppendPieces(std::string_view word, std::vector<int32_t>& ids) const {
    while (!word.empty()) {
      size_t bytes = std::min(word.size(), vocabulary_.longest_bytes());
      int32_t id = -1;
      for (; bytes > 0; --bytes) {
        id = vocabulary_.Find(word.substr(0, bytes));
        if (id >= 0 && vocabulary_.kind(id) == TokenKind::kNormal) break;
        id = -1;
      }
      if (id < 0) return false;
      ids.push_back(id);
      word.remove_prefix(bytes);
    }
    return true;
  }

  const Vocabulary& vocabulary_;
  CleanOptions clean_;
};

}  // namespace

MaybeModel CreateWordPieceModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  if (!vocabulary.unknown().has_value()) return InvalidArgument("tokenizer.ggml.unknown_token_id: missing");
  const bool lowercase = data.lowercase.value_or(true);
  return std::make_unique<WordPieceModel>(
      vocabulary, CleanOptions{.lowercase = lowercase, .strip_accents = data.strip_accents.value_or(lowercase)});
}

}  // namespace inferd::tokenizer
