// What turns a run of plain text into tokens: one implementation for each value of tokenizer.ggml.model.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<SubwordModel> model, CreateSubwordModel(data, vocabulary));
//   RETURN_IF_ERROR(model->Encode("Hello", ids));
//
// Special tokens are none of its business: it sees the text between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tokenizer/vocabulary.h"

namespace inferd::tokenizer {

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of `text`. RESOURCE_EXHAUSTED for a text that is too long. Any thread, any number at once.
  virtual absl::Status Encode(std::string_view text, std::vector<int32_t>& ids) const = 0;

  // The bytes of a normal, unused or byte token within a text.
  virtual std::string TokenBytes(int32_t id) const = 0;

  // Whether the family writes a space before a text that the text does not have.
  virtual bool adds_leading_space() const { return false; }
  // Whether each byte of a text is part of some token, none of which stands for more bytes than its spelling has.
  virtual bool keeps_every_byte() const { return false; }
  virtual bool default_add_bos() const { return false; }
  virtual bool default_add_eos() const { return false; }
};

using MaybeModel = absl::StatusOr<std::unique_ptr<SubwordModel>>;

// The vocabulary must outlive the model. INVALID_ARGUMENT and UNIMPLEMENTED name the key at fault.
MaybeModel CreateSubwordModel(const VocabularyData& data, const Vocabulary& vocabulary);

// The implementations, each in a file of its name: merges over words of bytes, merges over lines of plain text, scores
// over plain text, the most probable spelling, merges over words between white space, the longest pieces from the
// left.
MaybeModel CreateBytePairModel(const VocabularyData& data, const Vocabulary& vocabulary);
MaybeModel CreatePlainPairModel(const VocabularyData& data, const Vocabulary& vocabulary);
MaybeModel CreateSentencePairModel(const VocabularyData& data, const Vocabulary& vocabulary);
MaybeModel CreateUnigramModel(const VocabularyData& data, const Vocabulary& vocabulary);
MaybeModel CreateWhitespaceModel(const VocabularyData& data, const Vocabulary& vocabulary);
MaybeModel CreateWordPieceModel(const VocabularyData& data, const Vocabulary& vocabulary);

}  // namespace inferd::tokenizer
