// SentencePiece's byte-pair encoding (Llama 2, Mistral, Gemma): no merges but scores; two neighbours join if together
// they are a token, the token of the best score first. What is no token becomes the tokens of its bytes.
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "config/base/status.h"
#include "engine/tokenizer/pair_merger.h"
#include "engine/tokenizer/spaces.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/utf8.h"
#include "engine/tokenizer/word_memo.h"

namespace inferd::tokenizer {
namespace {

// Lower for a higher score, and never kNoRank: the bits of finite floats, in their order.
uint32_t RankOfScore(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.0F);  // one zero
  const uint32_t ascending = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return ~ascending;
}

class SentencePairModel final : public SubwordModel {
 public:
  SentencePairModel(const Vocabulary& vocabulary, SpaceOptions spaces)
      : vocabulary_(vocabulary), spaces_(spaces), words_(vocabulary), memo_(vocabulary.size()) {}

  absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const override {
    if (text.size() >= UINT32_MAX / 4)
      return InvalidArgument("a text of {} bytes, expected less than 1 GiB", text.size());
    const std::string spelled = SpelledSpaces(text, spaces_);
    PairMerger merger;
    for (size_t at = 0; at < spelled.size();) {
      const size_t end = words_.EndOfWord(spelled, at);
      RETURN_IF_ERROR(EncodeWord(std::string_view(spelled).substr(at, end - at), merger, ids));
      at = end;
    }
    return absl::OkStatus();
  }

  std::string TokenBytes(int32_t id) const override { return BytesOfSpelledToken(vocabulary_, id); }
  bool adds_leading_space() const override { return spaces_.prefix; }
  bool keeps_every_byte() const override {
    for (int byte = 0; byte < 256; ++byte) {
      if (vocabulary_.byte_token(static_cast<uint8_t>(byte)) < 0) return false;
    }
    return !spaces_.remove_extra;
  }
  bool default_add_bos() const override { return true; }

 private:
  // What an unused token was joined from: it must not come out, its parts come out instead. A part is a token, or -1.
  struct Split {
    int32_t left, right;
    size_t left_bytes;
  };
  using Splits = absl::flat_hash_map<int32_t, Split>;

  absl::Status EncodeWord(std::string_view word, PairMerger& merger, std::vector<int32_t>& ids) const {
    const int32_t whole = FindToken(word);
    if (whole >= 0 && memo_.Get(whole) == WordMemo::kWhole) {
      ids.push_back(whole);
      return absl::OkStatus();
    }
    merger.Start();
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t end = at + DecodeUtf8(word.data() + at, word.data() + word.size()).bytes;
      merger.Add(FindToken(word.substr(at, end - at)), at, end);
      at = end;
    }
    Splits splits;
    merger.Run([&](const Symbol& left, const Symbol& right) -> Join {
      if (right.end - left.begin > vocabulary_.longest_bytes()) return {};
      const int32_t id = FindToken(word.substr(left.begin, right.end - left.begin));
      if (id < 0) return {};
      if (vocabulary_.kind(id) == TokenKind::kUnused) splits[id] = {left.id, right.id, left.end - left.begin};
      return {RankOfScore(vocabulary_.score(id)), id};
    });
    for (const Symbol& symbol : merger.result()) {
      RETURN_IF_ERROR(AppendUsed(symbol.id, word.substr(symbol.begin, symbol.end - symbol.begin), splits, ids));
    }
    if (whole >= 0) {
      const bool is_whole = merger.result().size() == 1 && vocabulary_.kind(whole) != TokenKind::kUnused;
      memo_.Set(whole, is_whole ? WordMemo::kWhole : WordMemo::kParts);
    }
    return absl::OkStatus();
  }

  // The token that text may become: control and byte tokens are not spelled by text.
  int32_t FindToken(std::string_view text) const {
    const int32_t id = vocabulary_.Find(text);
    if (id < 0) return -1;
    const TokenKind kind = vocabulary_.kind(id);
    return kind == TokenKind::kNormal || kind == TokenKind::kUserDefined || kind == TokenKind::kUnused ? id : -1;
  }

  // `text` is what the token spells, or no token does (-1).
  absl::Status AppendUsed(int32_t id, std::string_view text, const Splits& splits, std::vector<int32_t>& ids) const {
    if (id < 0) return AppendByteTokens(vocabulary_, text, ids);
    const auto split = splits.find(id);
    if (split == splits.end()) {
      ids.push_back(id);
      return absl::OkStatus();
    }
    const auto& [left, right, left_bytes] = split->second;
    RETURN_IF_ERROR(AppendUsed(left, text.substr(0, left_bytes), splits, ids));
    return AppendUsed(right, text.substr(left_bytes), splits, ids);
  }

  const Vocabulary& vocabulary_;
  SpaceOptions spaces_;
  SpelledWords words_;
  WordMemo memo_;
};

}  // namespace

MaybeModel CreateSentencePairModel(const VocabularyData& data, const Vocabulary& vocabulary) {
  const SpaceOptions spaces = {.prefix = data.add_space_prefix.value_or(true),
                               .remove_extra = data.remove_extra_spaces.value_or(false)};
  return std::make_unique<SentencePairModel>(vocabulary, spaces);
}

}  // namespace inferd::tokenizer
