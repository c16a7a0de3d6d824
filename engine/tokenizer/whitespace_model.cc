// Byte-pair encoding over words of plain text between white space, which is dropped (jina-embeddings-v2-base-zh):
// characters, lower-cased where the file says so, of which those that are no tokens
// are dropped too, then merges in order of rank.
#include <utility>

#include "config/base/status.h"
#include "engine/tokenizer/merge_table.h"
#include "engine/tokenizer/pair_merger.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

class WhitespaceModel final : public SubwordModel {
 public:
  WhitespaceModel(const Vocabulary& vocabulary, MergeTable merges, bool lowercase)
      : vocabulary_(vocabulary), merges_(std::move(merges)), lowercase_(lowercase) {}

  absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const override {
    const UnicodeTable& unicode = UnicodeTable::Get();
    const char* const end = text.data() + text.size();
    PairMerger merger;
    std::string word;
    for (const char* at = text.data(); at < end;) {
      const Character character = DecodeUtf8(at, end);
      at += character.bytes;
      if ((unicode.Of(character.code_point) & kWhiteSpace) != 0) {
        EncodeWord(word, merger, ids);
        word.clear();
      } else if (character.code_point != kBrokenCharacter) {
        AppendUtf8(lowercase_ ? LowercaseOf(character.code_point) : character.code_point, word);
      }
    }
    EncodeWord(word, merger, ids);
    return absl::OkStatus();
  }

  // Words' ends are lost; every token is written as a word, which is spelled with that token again.
  std::string TokenBytes(int32_t id) const override { return fmt::format(" {}", vocabulary_.spelling(id)); }
  bool adds_leading_space() const override { return true; }

 private:
  void EncodeWord(std::string_view word, PairMerger& merger, std::vector<int32_t>& ids) const {
    merger.Start();
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t end = at + DecodeUtf8(word.data() + at, word.data() + word.size()).bytes;
      const int32_t id = vocabulary_.Find(word.substr(at, end - at));
      if (id >= 0 && vocabulary_.kind(id) == TokenKind::kNormal) merger.Add(id, at, end);
      at = end;
    }
    merger.Run([this](const Symbol& left, const Symbol& right) { return merges_.Find(left.id, right.id); });
    for (const Symbol& symbol : merger.result()) ids.push_back(symbol.id);
  }

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  bool lowercase_;
};

}  // namespace

MaybeModel CreateWhitespaceModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  if (data.pre != "whitespace") {
    return Unimplemented("tokenizer.ggml.pre: \"{}\", expected whitespace as tokenizer.ggml.model says", data.pre);
  }
  if (data.merges.empty()) return InvalidArgument("tokenizer.ggml.merges: missing or empty, expected merges");
  ASSIGN_OR_RETURN(MergeTable merges, MergeTable::Create(data.merges, vocabulary));
  return std::make_unique<WhitespaceModel>(vocabulary, std::move(merges), data.lowercase.value_or(false));
}

}  // namespace inferd::tokenizer
