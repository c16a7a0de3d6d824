// The Tokenizer of any vocabulary: special tokens by SpecialMatcher, the text between them by a SubwordModel.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/vocabulary_data.h"

namespace inferd::tokenizer {

// What Tokenizer::Create does with the data that it reads from the file. The data's views must outlive the tokenizer.
absl::StatusOr<std::unique_ptr<Tokenizer>> CreateTokenizer(const VocabularyData& data);

}  // namespace inferd::tokenizer
