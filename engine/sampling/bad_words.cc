// A word ends in a token either because all of it lies there, whatever came before, or because the text before ends
// with a beginning of the word and the token begins with the rest. The beginnings with which a text ends are the
// automaton's state and its fallbacks.
#include "engine/sampling/bad_words.h"

#include <string_view>

#include "engine/sampling/penalties.h"

namespace inferd::sampling {

BadWords::BadWords(const std::vector<std::string>& words, std::shared_ptr<const TokenTexts> texts)
    : texts_(std::move(texts)), automaton_(words), rest_(static_cast<size_t>(automaton_.states())) {
  for (int32_t token = 0; token < texts_->size(); ++token) {
    int32_t state = 0;
    for (char byte : texts_->text(token)) {
      state = automaton_.Next(state, byte);
      if (!automaton_.MatchEndsAt(state)) continue;
      whole_.push_back(token);
      break;
    }
  }
  for (const std::string& word : words) {
    int32_t state = 0;
    for (size_t i = 0; i + 1 < word.size(); ++i) {
      state = automaton_.Next(state, word[i]);
      const std::span<const int32_t> tokens = texts_->StartingWith(std::string_view(word).substr(i + 1));
      if (!tokens.empty()) rest_[state].push_back(tokens);
    }
  }
}

void BadWords::Ban(int32_t state, std::span<float> logits) const {
  sampling::Ban(whole_, logits);
  for (; state != 0; state = automaton_.Fallback(state)) {
    for (const std::span<const int32_t> tokens : rest_[state]) sampling::Ban(tokens, logits);
  }
}

int32_t BadWords::Advance(int32_t state, int32_t token) const {
  for (char byte : texts_->text(token)) state = automaton_.Next(state, byte);
  return state;
}

}  // namespace inferd::sampling
