// Byte-pair encoding over plain text with spelled spaces (Gemma 4, Sarvam): lines, then characters, then merges in
// order of rank. What is no token becomes the tokens of its bytes.
#include <utility>

#include "config/base/status.h"
#include "engine/tokenizer/merge_table.h"
#include "engine/tokenizer/pair_merger.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/spaces.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/utf8.h"
#include "engine/tokenizer/word_memo.h"

namespace inferd::tokenizer {
namespace {

class PlainPairModel final : public SubwordModel {
 public:
  PlainPairModel(const Vocabulary& vocabulary, MergeTable merges, PreTokenizer lines, const SplitFamily& family,
                 bool prefix)
      : vocabulary_(vocabulary),
        merges_(std::move(merges)),
        lines_(std::move(lines)),
        family_(family),
        prefix_(prefix),
        words_(vocabulary),
        memo_(vocabulary.size()) {}

  absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const override {
    const std::string spelled = SpelledSpaces(text, {.prefix = prefix_});
    std::vector<uint32_t> ends;
    RETURN_IF_ERROR(lines_.Split(spelled, ends));
    PairMerger merger;
    size_t at = 0;
    for (const uint32_t end : ends) {
      const std::string_view line = std::string_view(spelled).substr(0, end);
      while (at < end) {
        const size_t word_end = words_.EndOfWord(line, at);
        RETURN_IF_ERROR(EncodeWord(line.substr(at, word_end - at), merger, ids));
        at = word_end;
      }
    }
    return absl::OkStatus();
  }

  std::string TokenBytes(int32_t id) const override { return BytesOfSpelledToken(vocabulary_, id); }
  bool adds_leading_space() const override { return prefix_; }
  bool default_add_bos() const override { return family_.adds_bos; }

 private:
  absl::Status EncodeWord(std::string_view word, PairMerger& merger, std::vector<int32_t>& ids) const {
    const int32_t whole = FindNormal(word);
    // Runs of newlines have no merges that lead to their tokens.
    const bool newlines = word.find_first_not_of('\n') == std::string_view::npos;
    if (whole >= 0 && (newlines || memo_.Get(whole) == WordMemo::kWhole)) {
      ids.push_back(whole);
      return absl::OkStatus();
    }
    merger.Start();
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t end = at + DecodeUtf8(word.data() + at, word.data() + word.size()).bytes;
      merger.Add(FindNormal(word.substr(at, end - at)), at, end);
      at = end;
    }
    merger.Run([this](const Symbol& left, const Symbol& right) {
      return left.id < 0 || right.id < 0 ? Join{} : merges_.Find(left.id, right.id);
    });
    for (const Symbol& symbol : merger.result()) {
      if (symbol.id >= 0) {
        ids.push_back(symbol.id);
      } else {
        RETURN_IF_ERROR(AppendByteTokens(vocabulary_, word.substr(symbol.begin, symbol.end - symbol.begin), ids));
      }
    }
    if (whole >= 0) {
      const bool is_whole = merger.result().size() == 1 && merger.result()[0].id == whole;
      memo_.Set(whole, is_whole ? WordMemo::kWhole : WordMemo::kParts);
    }
    return absl::OkStatus();
  }

  int32_t FindNormal(std::string_view text) const {
    const int32_t id = vocabulary_.Find(text);
    return id >= 0 && vocabulary_.kind(id) == TokenKind::kNormal ? id : -1;
  }

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  PreTokenizer lines_;
  const SplitFamily& family_;
  bool prefix_;
  SpelledWords words_;
  WordMemo memo_;
};

}  // namespace

MaybeModel CreatePlainPairModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  const SplitFamily& family = *FindSplitFamily(data.pre);
  ASSIGN_OR_RETURN(MergeTable merges, MergeTable::Create(data.merges, vocabulary));
  ASSIGN_OR_RETURN(PreTokenizer lines, PreTokenizer::Create(family.rules));
  return std::make_unique<PlainPairModel>(vocabulary, std::move(merges), std::move(lines), family,
                                          data.add_space_prefix.value_or(false));
}

}  // namespace inferd::tokenizer
