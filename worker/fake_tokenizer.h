// A tokenizer for tests: a byte is a token, and 256.. are the control tokens <s>, </s>, <|x|> and <|tool_call|>.
//
//   LoadedModel model;
//   model.tokenizer = std::make_unique<FakeTokenizer>();
#pragma once

#include <string>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace inferd::worker {

class FakeTokenizer : public tokenizer::Tokenizer {
 public:
  static constexpr int32_t kBegin = 256, kEnd = 257, kMark = 258, kToolCall = 259;

  absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text, tokenizer::EncodeOptions options) const override {
    std::vector<int32_t> ids;
    if (options.add_special) ids.push_back(kBegin);
    Append(text, options.parse_special, ids);
    return ids;
  }
  absl::StatusOr<std::vector<int32_t>> EncodeSegments(std::span<const tokenizer::Segment> segments) const override {
    std::vector<int32_t> ids;
    for (const tokenizer::Segment& segment : segments) Append(segment.text, segment.trusted, ids);
    if (ids.empty() || ids.front() != kBegin) ids.insert(ids.begin(), kBegin);
    return ids;
  }
  absl::StatusOr<tokenizer::TokenPair> EncodePair(std::string_view first, std::string_view second) const override {
    tokenizer::TokenPair pair = {.ids = {kBegin}, .second = 0};
    for (std::string_view text : {first, second}) {
      pair.second = static_cast<int64_t>(pair.ids.size());
      Append(text, /*parse_special=*/false, pair.ids);
      pair.ids.push_back(kEnd);
    }
    return pair;
  }
  std::string TokenBytes(int32_t id, bool with_special) const override {
    if (id < kBegin) return std::string(1, static_cast<char>(id));
    return with_special ? std::string(spelling(id)) : "";
  }
  std::string Decode(std::span<const int32_t> ids, bool with_special) const override {
    std::string text;
    for (int32_t id : ids) text += TokenBytes(id, with_special);
    return text;
  }
  int32_t vocabulary_size() const override { return 260; }
  tokenizer::TokenKind kind(int32_t id) const override {
    return id < kBegin ? tokenizer::TokenKind::kNormal : tokenizer::TokenKind::kControl;
  }
  std::string_view spelling(int32_t id) const override {
    return id == kBegin ? "<s>" : id == kEnd ? "</s>" : id == kMark ? "<|x|>" : id == kToolCall ? "<|tool_call|>" : "";
  }
  std::optional<int32_t> FindSpelling(std::string_view text) const override {
    for (int32_t id : {kBegin, kEnd, kMark, kToolCall}) {
      if (spelling(id) == text) return id;
    }
    return std::nullopt;
  }
  bool IsEndOfGeneration(int32_t id) const override { return id == kEnd; }
  std::optional<int32_t> bos() const override { return kBegin; }
  std::optional<int32_t> eos() const override { return kEnd; }
  bool adds_bos() const override { return true; }
  uint64_t fingerprint() const override { return 1; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  void Append(std::string_view text, bool parse_special, std::vector<int32_t>& ids) const {
    while (!text.empty()) {
      size_t taken = 1;
      int32_t id = static_cast<unsigned char>(text[0]);
      for (int32_t special : {kBegin, kEnd, kMark, kToolCall}) {
        if (parse_special && text.starts_with(spelling(special))) {
          id = special;
          taken = spelling(special).size();
        }
      }
      ids.push_back(id);
      text.remove_prefix(taken);
    }
  }

  const std::vector<std::string> warnings_;
};

}  // namespace inferd::worker
