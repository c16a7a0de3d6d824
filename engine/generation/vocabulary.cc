#include "engine/generation/vocabulary.h"

#include "engine/tokenizer/tokenizer.h"

namespace inferd::engine {

Vocabulary VocabularyOf(const tokenizer::Tokenizer& tokenizer, int32_t model_size) {
  Vocabulary vocabulary{.size = model_size, .end_of_generation = {}, .token_bytes = nullptr};
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (tokenizer.IsEndOfGeneration(id)) vocabulary.end_of_generation.push_back(id);
  }
  vocabulary.token_bytes = [&tokenizer](int32_t id, bool with_special) {
    return id < tokenizer.vocabulary_size() ? tokenizer.TokenBytes(id, with_special) : std::string();
  };
  return vocabulary;
}

}  // namespace inferd::engine
