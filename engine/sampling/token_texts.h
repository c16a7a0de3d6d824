// The bytes of every token, and which tokens begin with given bytes.
//
//   TokenTexts texts(vocabulary.size, vocabulary.token_bytes);
//   for (int32_t token : texts.StartingWith("ing")) ...
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferd::sampling {

class TokenTexts {
 public:
  // `bytes(token, with_special)`: control tokens have some only with special.
  TokenTexts(int32_t size, const std::function<std::string(int32_t token, bool with_special)>& bytes);

  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  std::string_view spelled(int32_t token) const;  // control tokens too
  // What the token adds to an answer: nothing if it is a control token.
  std::string_view text(int32_t token) const { return silent_[token] ? std::string_view() : spelled(token); }

  // Tokens whose text begins so. `beginning` is not empty.
  std::span<const int32_t> StartingWith(std::string_view beginning) const;

 private:
  std::string bytes_;           // of all tokens, one after the other
  std::vector<uint32_t> ends_;  // [size] where a token's bytes end
  std::vector<bool> silent_;
  std::vector<int32_t> sorted_;  // tokens with a text, ascending by it
};

}  // namespace inferd::sampling
