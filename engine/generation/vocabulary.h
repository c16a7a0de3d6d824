// What the engine needs of a tokenizer.
//
//   engine::Vocabulary vocabulary = engine::VocabularyOf(*tokenizer, model->vocabulary_size());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace inferd::tokenizer {
class Tokenizer;
}

namespace inferd::engine {

struct Vocabulary {
  int32_t size = 0;
  std::vector<int32_t> end_of_generation;  // ascending
  // Text that a token gives; control tokens give none unless `with_special`.
  std::function<std::string(int32_t token, bool with_special)> token_bytes;
};

// `model_size`: rows of the embeddings, of which there may be more than tokens; those give no text. The tokenizer must
// outlive the vocabulary.
Vocabulary VocabularyOf(const tokenizer::Tokenizer& tokenizer, int32_t model_size);

}  // namespace inferd::engine
