// The tokens of a model, checked: spelling, kind, score and id of each, and the ids with a role.
//
//   ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Create(data));
//   int32_t id = vocabulary.Find("hello");   // -1: none
//
// Spellings are views into the file, which must outlive the vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tokenizer/token_index.h"
#include "engine/tokenizer/token_kind.h"
#include "engine/tokenizer/vocabulary_data.h"

namespace inferd::tokenizer {

class Vocabulary {
 public:
  // INVALID_ARGUMENT names the key and the token at fault: no tokens, twins, arrays of another length, unknown kinds,
  // byte tokens that are not spelled <0x00> to <0xFF>, scores that are no numbers, BOS or ends beyond the vocabulary.
  // What changes no result (no scores, ids of padding that are none) is a warning.
  static absl::StatusOr<Vocabulary> Create(const VocabularyData& data);

  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  std::string_view spelling(int32_t id) const { return tokens_[id]; }
  TokenKind kind(int32_t id) const { return kinds_[id]; }
  float score(int32_t id) const { return scores_.empty() ? 0.0F : scores_[id]; }
  int32_t Find(std::string_view spelling) const { return index_.Find(spelling); }
  void FindAll(std::span<const std::string_view> spellings, std::span<int32_t> ids) const {
    index_.FindAll(spellings, ids);
  }
  size_t longest_bytes() const { return longest_bytes_; }  // of all spellings

  // The token <0xHH> of a byte, -1 if there is none; and the byte of such a token.
  int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }
  uint8_t byte_of(int32_t id) const;

  // A token that text may spell only where special tokens are parsed: control tokens, and those of another kind that
  // look like or end as control tokens do (<|user|>, an end of generation): a user must not be able to write them.
  bool is_protected(int32_t id) const { return protected_[id]; }
  bool ends_generation(int32_t id) const { return ends_generation_[id]; }

  std::optional<int32_t> bos() const { return bos_; }  // of BERT: [CLS]
  std::optional<int32_t> eos() const { return eos_; }
  std::optional<int32_t> unknown() const { return unknown_; }
  std::optional<int32_t> separator() const { return separator_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  absl::Status IndexTokens();
  absl::Status SetKinds(std::span<const int64_t> kinds);
  absl::Status SetByteTokens();
  absl::Status SetScores(const VocabularyData& data);
  absl::Status SetSpecialIds(const VocabularyData& data);
  void FindEnds();
  void FindProtected();

  std::span<const std::string_view> tokens_;
  TokenIndex index_;
  std::vector<TokenKind> kinds_;
  std::vector<float> scores_;
  std::vector<bool> protected_, ends_generation_;
  std::array<int32_t, 256> byte_tokens_;
  size_t longest_bytes_ = 0;
  std::vector<std::string> warnings_;
  std::optional<int32_t> bos_, eos_, eot_, eom_, unknown_, separator_;
};

}  // namespace inferd::tokenizer
