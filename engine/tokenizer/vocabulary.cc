#include "engine/tokenizer/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "config/base/status.h"

namespace inferd::tokenizer {
namespace {

// Each takes some hundred bytes of memory; the largest vocabularies have a quarter of a million.
constexpr size_t kMostTokens = size_t{4} << 20;

// Spellings that end a turn in the families that have them; files name one such token at most in their keys.
constexpr std::string_view kEnds[] = {"<|eot_id|>",
                                      "<|eom_id|>",
                                      "<|end_of_text|>",
                                      "<|endoftext|>",
                                      "<|im_end|>",
                                      "<|end|>",
                                      "<|return|>",
                                      "<|call|>",
                                      "<|calls|>",
                                      "<|flush|>",
                                      "<end_of_turn>",
                                      "<turn|>",
                                      "<|tool_response>",
                                      "<eos>",
                                      "<EOT>",
                                      "_<EOT>",
                                      "[EOT]",
                                      "[EOS]",
                                      "<｜end▁of▁sentence｜>",
                                      "<end_of_utterance>",
                                      "[e~["};

// What SentencePiece and BERT call their tokens, for files that do not give the ids.
constexpr std::pair<std::string_view, std::string_view> kUsualRoles[] = {{"bos", "<s>"},         {"eos", "</s>"},
                                                                         {"unknown", "<unk>"},   {"bos", "[CLS]"},
                                                                         {"seperator", "[SEP]"}, {"unknown", "[UNK]"}};

// The byte that "<0xHH>" spells; nullopt for any other spelling.
std::optional<uint8_t> ByteOfSpelling(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(spelling.data() + 3, spelling.data() + 5, byte, 16);
  if (error != std::errc() || end != spelling.data() + 5) return std::nullopt;
  return byte;
}

// <|user|>, <|turn>, <turn|>, <｜User｜>: the shapes in which families write the frame of a conversation.
bool LooksLikeControl(std::string_view spelling) {
  const bool brackets = spelling.starts_with('<') && spelling.ends_with('>') && spelling.size() > 4;
  return brackets && (spelling.starts_with("<|") || spelling.ends_with("|>") || spelling.starts_with("<｜"));
}

// Of an id beyond the vocabulary. Writers say "none" with -1 in 32 bits, signed or not; where no text gets the token
// (padding, mask) or flags ask for it by name (separator), any other number does no harm either.
bool IsHarmless(const SpecialId& special, bool optional) {
  return optional || special.id == -1 || special.id == 0xFFFFFFFF;
}

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::Create(const VocabularyData& data) {
  Vocabulary vocabulary;
  vocabulary.tokens_ = data.tokens;
  RETURN_IF_ERROR(vocabulary.IndexTokens());
  RETURN_IF_ERROR(vocabulary.SetKinds(data.kinds));
  RETURN_IF_ERROR(vocabulary.SetByteTokens());
  RETURN_IF_ERROR(vocabulary.SetScores(data));
  RETURN_IF_ERROR(vocabulary.SetSpecialIds(data));
  vocabulary.FindEnds();
  vocabulary.FindProtected();
  return vocabulary;
}

absl::Status Vocabulary::IndexTokens() {
  if (tokens_.empty() || tokens_.size() > kMostTokens) {
    return InvalidArgument("tokenizer.ggml.tokens: {} tokens, expected 1 to {}", tokens_.size(), kMostTokens);
  }
  index_ = TokenIndex(tokens_);
  for (int32_t id = 0; id < size(); ++id) {
    if (tokens_[id].empty()) continue;  // padding: no text can spell it
    longest_bytes_ = std::max(longest_bytes_, tokens_[id].size());
    if (const std::optional<int32_t> twin = index_.Insert(id)) {
      return InvalidArgument("tokenizer.ggml.tokens: tokens {} and {} are both \"{}\", expected each spelling once",
                             *twin, id, tokens_[id]);
    }
  }
  return absl::OkStatus();
}

absl::Status Vocabulary::SetKinds(std::span<const int64_t> kinds) {
  kinds_.assign(tokens_.size(), TokenKind::kNormal);
  if (kinds.empty()) return absl::OkStatus();
  if (kinds.size() != tokens_.size()) {
    return InvalidArgument("tokenizer.ggml.token_type: {} values, expected one for each of {} tokens", kinds.size(),
                           tokens_.size());
  }
  size_t undefined = 0;
  for (size_t id = 0; id < kinds.size(); ++id) {
    if (kinds[id] < 0 || kinds[id] > 6) {
      return InvalidArgument("tokenizer.ggml.token_type[{}] = {}, expected 1 to 6", id, kinds[id]);
    }
    if (kinds[id] == 0) {
      ++undefined;
    } else {
      kinds_[id] = static_cast<TokenKind>(kinds[id]);
    }
  }
  if (undefined > 0) {
    warnings_.push_back(
        fmt::format("tokenizer.ggml.token_type: {} tokens of type 0 (undefined) are taken for normal ones", undefined));
  }
  return absl::OkStatus();
}

absl::Status Vocabulary::SetByteTokens() {
  byte_tokens_.fill(-1);
  for (int32_t id = 0; id < size(); ++id) {
    if (kinds_[id] != TokenKind::kByte) continue;
    const std::optional<uint8_t> byte = ByteOfSpelling(tokens_[id]);
    if (!byte.has_value()) {
      return InvalidArgument("tokenizer.ggml.tokens[{}] = \"{}\": a byte token, expected <0x00> to <0xFF>", id,
                             tokens_[id]);
    }
    if (byte_tokens_[*byte] >= 0) {
      return InvalidArgument("tokenizer.ggml.tokens: tokens {} and {} both stand for byte {:#04x}", byte_tokens_[*byte],
                             id, *byte);
    }
    byte_tokens_[*byte] = id;
  }
  return absl::OkStatus();
}

absl::Status Vocabulary::SetScores(const VocabularyData& data) {
  const std::vector<float>& scores = data.scores;
  if (scores.empty() && data.model == "llama") {
    warnings_.push_back("tokenizer.ggml.scores: missing, every token has the score 0");
  }
  if (!scores.empty() && scores.size() != tokens_.size()) {
    return InvalidArgument("tokenizer.ggml.scores: {} values, expected one for each of {} tokens", scores.size(),
                           tokens_.size());
  }
  for (size_t id = 0; id < scores.size(); ++id) {
    if (!std::isfinite(scores[id])) {
      return InvalidArgument("tokenizer.ggml.scores[{}] = {}, expected a finite number", id, scores[id]);
    }
  }
  scores_ = scores;
  return absl::OkStatus();
}

absl::Status Vocabulary::SetSpecialIds(const VocabularyData& data) {
  const auto role = [this](std::string_view name) -> std::optional<int32_t>* {
    if (name == "bos" || name == "cls") return &bos_;
    if (name == "eos") return &eos_;
    if (name == "eot") return &eot_;
    if (name == "eom") return &eom_;
    if (name == "unknown") return &unknown_;
    if (name == "seperator" || name == "separator") return &separator_;
    return nullptr;
  };
  for (const SpecialId& special : data.special_ids) {
    std::optional<int32_t>* target = role(special.name);
    if (special.id < 0 || special.id >= size()) {
      if (IsHarmless(special, target == nullptr || target == &separator_)) {
        warnings_.push_back(fmt::format("tokenizer.ggml.{}_token_id = {} is ignored, expected 0 to {}", special.name,
                                        special.id, size() - 1));
        continue;
      }
      return InvalidArgument("tokenizer.ggml.{}_token_id = {}, expected 0 to {}", special.name, special.id, size() - 1);
    }
    if (target != nullptr) *target = static_cast<int32_t>(special.id);
  }
  if (data.model == "gpt2") return absl::OkStatus();
  for (const auto& [name, spelling] : kUsualRoles) {
    std::optional<int32_t>& target = *role(name);
    const int32_t id = Find(spelling);
    if (!target.has_value() && id >= 0 && kinds_[id] != TokenKind::kNormal) target = id;
  }
  return absl::OkStatus();
}

void Vocabulary::FindEnds() {
  ends_generation_.assign(tokens_.size(), false);
  const auto has = [this](std::string_view spelling) { return Find(spelling) >= 0; };
  for (const std::string_view spelling : kEnds) {
    const int32_t id = Find(spelling);
    if (id < 0) continue;
    ends_generation_[id] = true;
    if (kinds_[id] == TokenKind::kNormal) kinds_[id] = TokenKind::kControl;  // files that were converted carelessly
  }
  // Where texts do not begin with <s>, </s> is an HTML tag like any other.
  if (has("</s>") && bos_.has_value() && tokens_[*bos_] == "<s>") ends_generation_[Find("</s>")] = true;
  // Where messages end in <|return|> or <|call|>, <|end|> only ends a part of them (harmony, solar-open).
  const bool parts = (has("<|return|>") && has("<|call|>")) || (has("<|calls|>") && has("<|flush|>"));
  if (parts && has("<|end|>")) ends_generation_[Find("<|end|>")] = false;
  for (const std::optional<int32_t>& id : {eos_, eot_, eom_}) {
    if (id.has_value()) ends_generation_[*id] = true;
  }
}

void Vocabulary::FindProtected() {
  protected_.assign(tokens_.size(), false);
  for (int32_t id = 0; id < size(); ++id) {
    const bool control = kinds_[id] == TokenKind::kControl || kinds_[id] == TokenKind::kUnknown;
    const bool disguised =
        kinds_[id] == TokenKind::kUserDefined && (ends_generation_[id] || LooksLikeControl(tokens_[id]));
    protected_[id] = control || disguised;
  }
}

uint8_t Vocabulary::byte_of(int32_t id) const { return ByteOfSpelling(tokens_[id]).value_or(0); }

}  // namespace inferd::tokenizer
