// The texts of all tokens as a tree of bytes: what a constraint says of a beginning, it says of all tokens that have
// it.
//
//   TokenTrie trie(texts, end_of_generation);    // once for a model
//   for (int32_t i = 0; i < trie.size();) {      // in order: a node, then all below it
//     i = Allowed(trie.node(i)) ? i + 1 : trie.node(i).end;
//   }
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling/token_texts.h"

namespace inferd::constraint {

class TokenTrie {
 public:
  struct Node {
    uint8_t byte;
    uint16_t depth;       // 1: a first byte
    int32_t end;          // the next node that is not below this one
    int32_t first_token;  // of those that end here: tokens(i)
  };

  // Control tokens, tokens without a text and those that end a generation are left out. Milliseconds for a large
  // vocabulary. `end_of_generation` ascends.
  TokenTrie(const sampling::TokenTexts& texts, std::span<const int32_t> end_of_generation);

  int32_t size() const { return static_cast<int32_t>(nodes_.size()) - 1; }
  const Node& node(int32_t i) const { return nodes_[static_cast<size_t>(i)]; }
  std::span<const int32_t> tokens(int32_t i) const {
    const auto begin = static_cast<size_t>(node(i).first_token), end = static_cast<size_t>(node(i + 1).first_token);
    return std::span(tokens_).subspan(begin, end - begin);
  }
  int32_t vocabulary_size() const { return vocabulary_size_; }
  // Bytes of the longest token.
  uint32_t longest() const { return longest_; }

 private:
  std::vector<Node> nodes_;  // and one behind the last
  std::vector<int32_t> tokens_;
  int32_t vocabulary_size_;
  uint32_t longest_ = 0;
};

}  // namespace inferd::constraint
