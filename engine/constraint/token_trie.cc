// Sorted texts are the tree in order: each shares a beginning with the one before it.
#include "engine/constraint/token_trie.h"

#include <algorithm>
#include <string_view>

namespace inferd::constraint {
namespace {

constexpr size_t kLongestText = 4096;  // a token with more is never allowed

}  // namespace

TokenTrie::TokenTrie(const sampling::TokenTexts& texts, std::span<const int32_t> end_of_generation)
    : vocabulary_size_(texts.size()) {
  std::vector<int32_t> sorted;
  for (int32_t token = 0; token < texts.size(); ++token) {
    const size_t size = texts.text(token).size();
    if (std::binary_search(end_of_generation.begin(), end_of_generation.end(), token)) continue;
    if (size > 0 && size <= kLongestText) sorted.push_back(token);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return texts.text(a) < texts.text(b); });
  std::vector<int32_t> open;  // nodes of the current text
  std::string_view before;
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[static_cast<size_t>(open.back())].end = static_cast<int32_t>(nodes_.size());
  };
  for (int32_t token : sorted) {
    const std::string_view text = texts.text(token);
    const auto differs = std::mismatch(text.begin(), text.end(), before.begin(), before.end()).first;
    close(static_cast<size_t>(differs - text.begin()));
    for (size_t i = open.size(); i < text.size(); ++i) {
      open.push_back(static_cast<int32_t>(nodes_.size()));
      nodes_.push_back({.byte = static_cast<uint8_t>(text[i]),
                        .depth = static_cast<uint16_t>(i + 1),
                        .end = 0,
                        .first_token = static_cast<int32_t>(tokens_.size())});
    }
    tokens_.push_back(token);
    longest_ = std::max(longest_, static_cast<uint32_t>(text.size()));
    before = text;
  }
  close(0);
  nodes_.push_back({.byte = 0, .depth = 0, .end = 0, .first_token = static_cast<int32_t>(tokens_.size())});
}

}  // namespace inferd::constraint
