// Texts that an answer never contains, however they are divided into tokens: after each token, which tokens would
// complete one.
//
//   RETURN_IF_ERROR(BadWords::Check(words));
//   auto bad = std::make_shared<const BadWords>(words, texts);
//   int32_t state = 0;
//   bad->Ban(state, logits);                 // before each draw
//   state = bad->Advance(state, token);      // after it
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/sampling/byte_automaton.h"
#include "engine/sampling/token_texts.h"

namespace inferd::sampling {

class BadWords {
 public:
  static constexpr size_t kMostWords = 256;

  // INVALID_ARGUMENT: too many words, an empty or a too long one, or more than 4096 bytes together.
  static absl::Status Check(const std::vector<std::string>& words) {
    return CheckTexts("bad_words", words, kMostWords);
  }

  // A few milliseconds for a large vocabulary: not for the engine's thread.
  BadWords(const std::vector<std::string>& words, std::shared_ptr<const TokenTexts> texts);

  // `state` is 0 at the beginning of an answer.
  void Ban(int32_t state, std::span<float> logits) const;
  int32_t Advance(int32_t state, int32_t token) const;

  // Tokens that contain a word by themselves.
  std::span<const int32_t> always_banned() const { return whole_; }

 private:
  std::shared_ptr<const TokenTexts> texts_;
  ByteAutomaton automaton_;
  std::vector<int32_t> whole_;
  std::vector<std::vector<std::span<const int32_t>>> rest_;  // [states] tokens that begin with a rest of a word
};

}  // namespace inferd::sampling
