// A vocabulary as a model file states it, unchecked: the seam between files and tokenizers, and where tests come in.
//
//   ASSIGN_OR_RETURN(VocabularyData data, ReadVocabularyData(*file));
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, CreateTokenizer(data));
//
// All views point into the file (or the test's own arrays), which must outlive what is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::tokenizer {

// tokenizer.ggml.NAME_token_id
struct SpecialId {
  std::string_view name;  // "bos", "eos", "unknown", ...
  int64_t id;
};

struct VocabularyData {
  std::string_view model;                    // tokenizer.ggml.model: gpt2, llama, t5, bert, ...
  std::string_view pre;                      // tokenizer.ggml.pre, empty if absent
  std::string_view model_name;               // general.name, empty if absent
  std::span<const std::string_view> tokens;  // tokenizer.ggml.tokens, in order of their ids
  std::span<const std::string_view> merges;  // tokenizer.ggml.merges, best first
  std::vector<int64_t> kinds;                // tokenizer.ggml.token_type; empty: all normal
  std::vector<float> scores;                 // tokenizer.ggml.scores, empty if absent
  std::span<const uint8_t> charsmap;         // tokenizer.ggml.precompiled_charsmap
  std::vector<SpecialId> special_ids;        // every key of that form
  std::optional<bool> add_bos, add_eos;      // tokenizer.ggml.add_bos_token, add_eos_token
  std::optional<bool> add_separator;         // tokenizer.ggml.add_sep_token
  std::optional<bool> add_space_prefix;      // tokenizer.ggml.add_space_prefix
  std::optional<bool> remove_extra_spaces;   // tokenizer.ggml.remove_extra_whitespaces
  std::optional<bool> lowercase;             // tokenizer.ggml.normalizer.lowercase
  std::optional<bool> strip_accents;         // tokenizer.ggml.normalizer.strip_accents
};

// INVALID_ARGUMENT or NOT_FOUND name the key that is missing or of the wrong type.
absl::StatusOr<VocabularyData> ReadVocabularyData(const gguf::GgufFile& file);

}  // namespace inferd::tokenizer
