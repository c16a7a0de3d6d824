#include "engine/tokenizer/vocabulary_tokenizer.h"

#include <utility>

#include "config/base/status.h"
#include "engine/tokenizer/fingerprint.h"
#include "engine/tokenizer/special_matcher.h"
#include "engine/tokenizer/subword_model.h"
#include "engine/tokenizer/vocabulary.h"

namespace inferd::tokenizer {
namespace {

class VocabularyTokenizer final : public Tokenizer {
 public:
  VocabularyTokenizer(std::unique_ptr<const Vocabulary> vocabulary, std::unique_ptr<const SubwordModel> model,
                      const VocabularyData& data)
      : vocabulary_(std::move(vocabulary)),
        model_(std::move(model)),
        matcher_(*vocabulary_, data),
        adds_bos_(data.add_bos.value_or(model_->default_add_bos())),
        adds_eos_(data.add_eos.value_or(model_->default_add_eos())),
        adds_separator_(vocabulary_->separator().has_value() && data.add_separator.value_or(data.model != "bert")),
        ending_(data.model == "bert" ? vocabulary_->separator() : vocabulary_->eos()),
        fingerprint_(FingerprintOf(data)) {}

  // Without a token to add, add_bos and add_eos make no sense.
  absl::Status Check() const {
    if (adds_bos_ && !bos().has_value()) return Missing("add_bos_token", "bos_token_id");
    if (adds_eos_ && !ending_.has_value()) return Missing("add_eos_token", "eos_token_id");
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text, EncodeOptions options) const override {
    const ByteRange all = {0, text.size()};
    ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                     EncodeText(text, {&all, options.parse_special ? size_t{1} : size_t{0}}, options.add_special));
    if (options.add_special && adds_eos_) ids.push_back(*ending_);
    return ids;
  }

  absl::StatusOr<std::vector<int32_t>> EncodeSegments(std::span<const Segment> segments) const override {
    std::string text;
    std::vector<ByteRange> trusted;
    for (const Segment& segment : segments) {
      const size_t begin = text.size();
      text += segment.text;
      if (!segment.trusted || segment.text.empty()) continue;
      if (!trusted.empty() && trusted.back().end == begin) {
        trusted.back().end = text.size();
      } else {
        trusted.push_back({begin, text.size()});
      }
    }
    return EncodeText(text, trusted, /*add_bos=*/true);
  }

  absl::StatusOr<TokenPair> EncodePair(std::string_view first, std::string_view second) const override {
    ASSIGN_OR_RETURN(std::vector<int32_t> ids, Encode(first, {.add_special = true}));
    if (adds_separator_) ids.push_back(*vocabulary_->separator());
    const auto second_begin = static_cast<int64_t>(ids.size());
    ASSIGN_OR_RETURN(const std::vector<int32_t> rest, Encode(second, {}));
    ids.insert(ids.end(), rest.begin(), rest.end());
    if (adds_eos_) ids.push_back(*ending_);
    return TokenPair{std::move(ids), second_begin};
  }

  int64_t FewestTokens(size_t text_bytes) const override {
    const size_t longest = vocabulary_->longest_bytes();
    if (!model_->keeps_every_byte() || longest == 0) return 0;
    return static_cast<int64_t>(text_bytes / longest);
  }

  std::string TokenBytes(int32_t id, bool with_special) const override {
    switch (vocabulary_->kind(id)) {
      case TokenKind::kControl:
      case TokenKind::kUnknown:
        return with_special ? std::string(vocabulary_->spelling(id)) : std::string();
      default:
        return model_->TokenBytes(id);
    }
  }

  std::string Decode(std::span<const int32_t> ids, bool with_special) const override {
    std::string text;
    bool begins = model_->adds_leading_space();  // a text begins here, with a space that is not its own
    for (const int32_t id : ids) {
      std::string bytes = TokenBytes(id, with_special);
      const TokenKind kind = vocabulary_->kind(id);
      const bool special = kind == TokenKind::kControl || kind == TokenKind::kUserDefined;
      if (begins && !special && bytes.starts_with(' ')) bytes.erase(0, 1);
      begins = model_->adds_leading_space() && special;
      text += bytes;
    }
    return text;
  }

  int32_t vocabulary_size() const override { return vocabulary_->size(); }
  TokenKind kind(int32_t id) const override { return vocabulary_->kind(id); }
  std::string_view spelling(int32_t id) const override { return vocabulary_->spelling(id); }
  std::optional<int32_t> FindSpelling(std::string_view spelling) const override {
    const int32_t id = vocabulary_->Find(spelling);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  bool IsEndOfGeneration(int32_t id) const override { return vocabulary_->ends_generation(id); }
  std::optional<int32_t> bos() const override { return vocabulary_->bos(); }
  std::optional<int32_t> eos() const override { return vocabulary_->eos(); }
  bool adds_bos() const override { return adds_bos_; }
  uint64_t fingerprint() const override { return fingerprint_; }
  const std::vector<std::string>& warnings() const override { return vocabulary_->warnings(); }

 private:
  static absl::Status Missing(std::string_view flag, std::string_view key) {
    return InvalidArgument("tokenizer.ggml.{}: missing, but tokenizer.ggml.{} asks for it", key, flag);
  }

  absl::StatusOr<std::vector<int32_t>> EncodeText(std::string_view text, std::span<const ByteRange> trusted,
                                                  bool add_bos) const {
    std::vector<Fragment> fragments;
    matcher_.Split(text, trusted, fragments);
    std::vector<int32_t> ids;
    const bool begins_with_bos = !fragments.empty() && fragments[0].token >= 0 && fragments[0].token == bos();
    if (add_bos && adds_bos_ && !begins_with_bos) ids.push_back(*bos());
    for (const Fragment& fragment : fragments) {
      if (fragment.token >= 0) {
        ids.push_back(fragment.token);
      } else {
        const auto [begin, end] = fragment.text;
        RETURN_IF_ERROR(model_->Encode(text.substr(begin, end - begin), ids));
      }
    }
    return ids;
  }

  std::unique_ptr<const Vocabulary> vocabulary_;
  std::unique_ptr<const SubwordModel> model_;
  SpecialMatcher matcher_;
  bool adds_bos_, adds_eos_;
  bool adds_separator_;            // between the texts of a pair; BERT's separator is its ending already
  std::optional<int32_t> ending_;  // what add_eos adds
  uint64_t fingerprint_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> CreateTokenizer(const VocabularyData& data) {
  ASSIGN_OR_RETURN(Vocabulary checked, Vocabulary::Create(data));
  auto vocabulary = std::make_unique<const Vocabulary>(std::move(checked));
  ASSIGN_OR_RETURN(std::unique_ptr<SubwordModel> model, CreateSubwordModel(data, *vocabulary));
  auto tokenizer = std::make_unique<VocabularyTokenizer>(std::move(vocabulary), std::move(model), data);
  RETURN_IF_ERROR(tokenizer->Check());
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Create(const gguf::GgufFile& file) {
  ASSIGN_OR_RETURN(const VocabularyData data, ReadVocabularyData(file));
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = CreateTokenizer(data);
  if (!tokenizer.ok()) return Annotate(tokenizer.status(), file.path());
  return tokenizer;
}

}  // namespace inferd::tokenizer
