// Text to token ids and back, as the model's file declares it.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(*file));
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("Hello", {.add_special = true}));
//   std::string text = tokenizer->Decode(ids, /*with_special=*/false);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"
#include "engine/tokenizer/token_kind.h"

namespace inferd::tokenizer {

struct EncodeOptions {
  bool add_special = false;    // BOS and EOS as the file's add_bos / add_eos say
  bool parse_special = false;  // the spelling of control tokens becomes those tokens
};

// A run of text whose special-token spellings count (the template wrote it) or not (a user did).
struct Segment {
  std::string text;
  bool trusted;
};

// Two texts as one sequence of tokens.
struct TokenPair {
  std::vector<int32_t> ids;
  int64_t second;  // index of the second text's first token
};

class Tokenizer {
 public:
  // Keeps views into the file, which must outlive the tokenizer.
  // INVALID_ARGUMENT for a vocabulary that is not sound, UNIMPLEMENTED for a model or pre-tokenizer that is unknown;
  // both name the key.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Create(const gguf::GgufFile& file);

  virtual ~Tokenizer() = default;
  virtual absl::StatusOr<std::vector<int32_t>> Encode(std::string_view text, EncodeOptions options) const = 0;
  // A rendered chat prompt: special tokens are parsed in trusted segments alone. BOS is added as the file says unless
  // the text begins with it already.
  virtual absl::StatusOr<std::vector<int32_t>> EncodeSegments(std::span<const Segment> segments) const = 0;
  // Two texts for a model that compares them: BOS, first, EOS, separator, second, EOS, each of these marks as the file
  // says. Special tokens are not parsed.
  virtual absl::StatusOr<TokenPair> EncodePair(std::string_view first, std::string_view second) const = 0;

  // No text of so many bytes has fewer tokens, so that what is far too long need not be encoded. 0: nothing is known,
  // since the family drops or joins what it cannot spell.
  virtual int64_t FewestTokens(size_t /*text_bytes*/) const { return 0; }

  // The bytes that one token stands for in the middle of a text; control tokens give none unless `with_special`.
  virtual std::string TokenBytes(int32_t id, bool with_special) const = 0;
  // The whole text of a sequence: without the leading space that SentencePiece adds.
  virtual std::string Decode(std::span<const int32_t> ids, bool with_special) const = 0;

  virtual int32_t vocabulary_size() const = 0;
  virtual TokenKind kind(int32_t id) const = 0;
  virtual std::string_view spelling(int32_t id) const = 0;  // as in the file
  virtual std::optional<int32_t> FindSpelling(std::string_view spelling) const = 0;
  virtual bool IsEndOfGeneration(int32_t id) const = 0;  // EOS, EOT and the like
  virtual std::optional<int32_t> bos() const = 0;
  virtual std::optional<int32_t> eos() const = 0;
  virtual bool adds_bos() const = 0;
  virtual uint64_t fingerprint() const = 0;  // equal tokenizers have equal ones
  // What is odd in the file and changes no result, a sentence each that names the key.
  virtual const std::vector<std::string>& warnings() const = 0;
};

}  // namespace inferd::tokenizer
