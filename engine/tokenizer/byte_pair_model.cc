// Byte-pair encoding over the byte alphabet (GPT-2 and its heirs): words, then bytes, then merges in order of rank.
#include <array>
#include <utility>

#include "config/base/status.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/merge_table.h"
#include "engine/tokenizer/pair_merger.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/utf8.h"
#include "engine/tokenizer/word_memo.h"

namespace inferd::tokenizer {
namespace {

class BytePairModel final : public SubwordModel {
 public:
  BytePairModel(const Vocabulary& vocabulary, MergeTable merges, PreTokenizer words, const SplitFamily& family)
      : vocabulary_(vocabulary),
        merges_(std::move(merges)),
        words_(std::move(words)),
        family_(family),
        memo_(vocabulary.size()) {
    for (int byte = 0; byte < 256; ++byte) {
      const char raw = static_cast<char>(byte);
      char spelling[2];
      byte_ids_[byte] = vocabulary.Find({spelling, kByteAlphabet.Spell({&raw, 1}, spelling)});
    }
  }

  absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const override {
    std::vector<uint32_t> ends;
    RETURN_IF_ERROR(words_.Split(text, ends));
    PairMerger merger;
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
      EncodeWord(text.substr(begin, end - begin), merger, ids);
      begin = end;
    }
    return absl::OkStatus();
  }

  std::string TokenBytes(int32_t id) const override {
    const std::string_view spelling = vocabulary_.spelling(id);
    if (vocabulary_.kind(id) == TokenKind::kUserDefined) return std::string(spelling);
    std::string bytes;
    for (const char* at = spelling.data(); at < spelling.data() + spelling.size();) {
      const Character character = DecodeUtf8(at, spelling.data() + spelling.size());
      const int byte = kByteAlphabet.Byte(character.code_point);
      if (byte < 0) return std::string(spelling);  // plain text after all
      bytes.push_back(static_cast<char>(byte));
      at += character.bytes;
    }
    return bytes;
  }

  bool keeps_every_byte() const override {
    for (int byte = 0; byte < 256; ++byte) {
      const bool occurs = byte < 0xC0 || (byte > 0xC1 && byte < 0xF5);  // in UTF-8
      if (occurs && byte_ids_[byte] < 0) return false;
    }
    return true;
  }
  bool default_add_bos() const override { return family_.adds_bos; }

 private:
  // Longer words are no tokens: the longest ones are runs of spaces or dashes of some hundred bytes.
  static constexpr size_t kLongestWholeWord_bytes = 512;

  void EncodeWord(std::string_view word, PairMerger& merger, std::vector<int32_t>& ids) const {
    const int32_t whole = FindWhole(word);
    if (whole >= 0) {
      const WordMemo::State state = family_.whole_words_first ? WordMemo::kWhole : memo_.Get(whole);
      if (state == WordMemo::kWhole) {
        ids.push_back(whole);
        return;
      }
    }
    merger.Start();
    for (uint32_t at = 0; at < word.size(); ++at) {
      const int32_t id = byte_ids_[static_cast<uint8_t>(word[at])];
      if (id >= 0) merger.Add(id, at, at + 1);  // vocabularies may lack bytes that no text of UTF-8 has
    }
    merger.Run([this](const Symbol& left, const Symbol& right) { return merges_.Find(left.id, right.id); });
    for (const Symbol& symbol : merger.result()) ids.push_back(symbol.id);
    if (whole >= 0) {
      const bool is_whole = merger.result().size() == 1 && merger.result()[0].id == whole;
      memo_.Set(whole, is_whole ? WordMemo::kWhole : WordMemo::kParts);
    }
  }

  // The token that the whole word spells, -1 if none.
  int32_t FindWhole(std::string_view word) const {
    if (word.size() > kLongestWholeWord_bytes) return -1;
    std::array<char, 2 * kLongestWholeWord_bytes> spelling;
    const int32_t id = vocabulary_.Find({spelling.data(), kByteAlphabet.Spell(word, spelling.data())});
    return id >= 0 && vocabulary_.kind(id) == TokenKind::kNormal ? id : -1;
  }

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  PreTokenizer words_;
  const SplitFamily& family_;
  WordMemo memo_;
  std::array<int32_t, 256> byte_ids_;  // -1: the vocabulary lacks the byte
};

}  // namespace

MaybeModel CreateBytePairModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  const SplitFamily& family = *FindSplitFamily(data.pre);
  ASSIGN_OR_RETURN(MergeTable merges, MergeTable::Create(data.merges, vocabulary));
  ASSIGN_OR_RETURN(PreTokenizer words, PreTokenizer::Create(family.rules));
  return std::make_unique<BytePairModel>(vocabulary, std::move(merges), std::move(words), family);
}

}  // namespace inferd::tokenizer
