// Small vocabularies made by hand, for tests and the fuzzer.
//
//   TestVocabulary made = BytePairVocabulary();
//   auto tokenizer = CreateTokenizer(made.data());
#pragma once

#include <fmt/format.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/token_kind.h"
#include "engine/tokenizer/utf8.h"
#include "engine/tokenizer/vocabulary_data.h"

namespace inferd::tokenizer {

class TestVocabulary {
 public:
  explicit TestVocabulary(std::string_view model, std::string_view pre = "") : model_(model), pre_(pre) {}

  int32_t Add(std::string spelling, TokenKind kind = TokenKind::kNormal, float score = 0) {
    strings_.push_back(std::move(spelling));
    tokens_.push_back(strings_.back());
    kinds_.push_back(static_cast<int64_t>(kind));
    scores_.push_back(score);
    return static_cast<int32_t>(tokens_.size()) - 1;
  }
  void AddMerge(std::string merge) {
    strings_.push_back(std::move(merge));
    merges_.push_back(strings_.back());
  }
  void AddSpecialId(std::string_view name, int64_t id) { special_ids_.push_back({name, id}); }
  void AddByteTokens() {
    for (int byte = 0; byte < 256; ++byte) Add(fmt::format("<0x{:02X}>", byte), TokenKind::kByte);
  }
  // The 256 letters of the byte alphabet, ids 0 to 255 for the bytes in order.
  void AddByteLetters() {
    for (int byte = 0; byte < 256; ++byte) {
      std::string letter;
      AppendUtf8(kByteAlphabet.Letter(static_cast<uint8_t>(byte)), letter);
      Add(letter);
    }
  }

  // Views into this object, to be changed at will; valid as long as it is.
  VocabularyData data() const {
    VocabularyData data;
    data.model = model_;
    data.pre = pre_;
    data.tokens = tokens_;
    data.merges = merges_;
    data.kinds = kinds_;
    if (model_ != "gpt2" && model_ != "whitespace") data.scores = scores_;
    data.special_ids = special_ids_;
    return data;
  }

 private:
  std::string model_, pre_;
  std::deque<std::string> strings_;
  std::vector<std::string_view> tokens_, merges_;
  std::vector<int64_t> kinds_;
  std::vector<float> scores_;
  std::vector<SpecialId> special_ids_;
};

// Bytes 0 to 255, "he" 256, "hel" 257, "lo" 258, "hello" 259, "Ġhello" 260, "aa" 261, "aaaa" 262, then special tokens:
// <s> 263 (BOS), <|end|> 264 (ends), <tool> 265 (user-defined), <tool>s 266 (user-defined), <|user|> 267
// (user-defined).
inline TestVocabulary BytePairVocabulary(std::string_view pre = "gpt-2") {
  TestVocabulary made("gpt2", pre);
  made.AddByteLetters();
  for (const char* token : {"he", "hel", "lo", "hello", "Ġhello", "aa", "aaaa"}) made.Add(token);
  for (const char* merge : {"h e", "he l", "l o", "hel lo", "Ġ hello", "a a", "aa aa"}) made.AddMerge(merge);
  made.AddSpecialId("bos", made.Add("<s>", TokenKind::kControl));
  made.AddSpecialId("eos", made.Add("<|end|>", TokenKind::kControl));
  made.Add("<tool>", TokenKind::kUserDefined);
  made.Add("<tool>s", TokenKind::kUserDefined);
  made.Add("<|user|>", TokenKind::kUserDefined);
  return made;
}

// <unk> 0, <s> 1, </s> 2, bytes 3 to 258, then pieces with scores, of which "▁ab" is unused.
inline TestVocabulary SentencePairVocabulary() {
  TestVocabulary made("llama", "default");
  made.AddSpecialId("unknown", made.Add("<unk>", TokenKind::kUnknown));
  made.AddSpecialId("bos", made.Add("<s>", TokenKind::kControl));
  made.AddSpecialId("eos", made.Add("</s>", TokenKind::kControl));
  made.AddByteTokens();
  float score = -1;
  for (const char* piece : {"he", "▁he", "ll", "llo", "▁hello", "ab", "aa", "aaaa"}) {
    made.Add(piece, TokenKind::kNormal, score--);
  }
  made.Add("▁ab", TokenKind::kUnused, score--);
  for (const char* character : {"▁", "h", "e", "l", "o", "a", "b", "<", "s", ">"}) {
    made.Add(character, TokenKind::kNormal, score--);
  }
  return made;
}

}  // namespace inferd::tokenizer
