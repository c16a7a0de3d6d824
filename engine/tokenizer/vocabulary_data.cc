#include "engine/tokenizer/vocabulary_data.h"

#include <string>

#include "config/base/status.h"

namespace inferd::tokenizer {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr std::string_view kIdSuffix = "_token_id";

absl::Status ReadFlag(const gguf::GgufFile& file, std::string_view key, std::optional<bool>& flag) {
  if (file.Find(key) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(flag, file.GetBool(key));
  return absl::OkStatus();
}

absl::Status ReadSpecialIds(const gguf::GgufFile& file, std::vector<SpecialId>& ids) {
  for (const gguf::Entry& entry : file.entries()) {
    std::string_view name = entry.key;
    if (!name.starts_with(kPrefix) || !name.ends_with(kIdSuffix)) continue;
    name.remove_prefix(kPrefix.size());
    name.remove_suffix(kIdSuffix.size());
    ASSIGN_OR_RETURN(const int64_t id, file.GetInt(entry.key));
    ids.push_back({name, id});
  }
  return absl::OkStatus();
}

absl::Status ReadCharsmap(const gguf::GgufFile& file, std::span<const uint8_t>& charsmap) {
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  const gguf::Entry* entry = file.Find(kKey);
  if (entry == nullptr) return absl::OkStatus();
  const auto* array = std::get_if<gguf::Array>(&entry->value);
  if (array == nullptr || gguf::ValueTypeBytes(array->element_type) != 1) {
    return InvalidArgument("{}: {}: expected an array of bytes", file.path(), kKey);
  }
  charsmap = {array->bytes, array->size};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VocabularyData> ReadVocabularyData(const gguf::GgufFile& file) {
  VocabularyData data;
  ASSIGN_OR_RETURN(data.model, file.GetString("tokenizer.ggml.model"));
  ASSIGN_OR_RETURN(data.pre, file.GetStringOr("tokenizer.ggml.pre", ""));
  ASSIGN_OR_RETURN(data.model_name, file.GetStringOr("general.name", ""));
  ASSIGN_OR_RETURN(data.tokens, file.GetStrings("tokenizer.ggml.tokens"));
  if (file.Find("tokenizer.ggml.merges") != nullptr) {
    ASSIGN_OR_RETURN(data.merges, file.GetStrings("tokenizer.ggml.merges"));
  }
  if (file.Find("tokenizer.ggml.token_type") != nullptr) {
    ASSIGN_OR_RETURN(data.kinds, file.GetInts("tokenizer.ggml.token_type"));
  }
  if (file.Find("tokenizer.ggml.scores") != nullptr) {
    ASSIGN_OR_RETURN(data.scores, file.GetFloats("tokenizer.ggml.scores"));
  }
  RETURN_IF_ERROR(ReadCharsmap(file, data.charsmap));
  RETURN_IF_ERROR(ReadSpecialIds(file, data.special_ids));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_bos_token", data.add_bos));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_eos_token", data.add_eos));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_sep_token", data.add_separator));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.add_space_prefix", data.add_space_prefix));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.remove_extra_whitespaces", data.remove_extra_spaces));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.normalizer.lowercase", data.lowercase));
  RETURN_IF_ERROR(ReadFlag(file, "tokenizer.ggml.normalizer.strip_accents", data.strip_accents));
  return data;
}

}  // namespace inferd::tokenizer
