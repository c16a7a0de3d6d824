// Which of many texts end in a stream of bytes, one step a byte: the automaton of Aho and Corasick ("Efficient string
// matching", CACM 1975).
//
//   ByteAutomaton words({"cat", "at"});
//   int32_t state = 0;
//   for (char byte : text) state = words.Next(state, byte);
//   if (words.MatchEndsAt(state)) ...           // words.LongestMatch(state) is the index of "cat"
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace inferd::sampling {

class ByteAutomaton {
 public:
  // No text is empty. A byte of text takes a kilobyte.
  explicit ByteAutomaton(const std::vector<std::string>& texts);

  int32_t Next(int32_t state, char byte) const { return nodes_[state].next[static_cast<unsigned char>(byte)]; }
  bool MatchEndsAt(int32_t state) const { return nodes_[state].match >= 0; }
  // The index of the longest text that ends here; -1 if none does.
  int32_t LongestMatch(int32_t state) const { return nodes_[state].match; }
  // How many bytes, at most, the stream ends in that a text begins with.
  int32_t Depth(int32_t state) const { return nodes_[state].depth; }
  // The state of the longest proper suffix of what this state stands for; 0, the start, has none but itself.
  int32_t Fallback(int32_t state) const { return nodes_[state].fallback; }
  int32_t states() const { return static_cast<int32_t>(nodes_.size()); }

 private:
  struct Node {
    std::array<int32_t, 256> next;
    int32_t fallback = 0;
    int32_t depth = 0;
    int32_t match = -1;
  };
  std::vector<Node> nodes_;
};

// INVALID_ARGUMENT, with the field's name, for too many texts, or one that is empty or too long, or too many bytes.
absl::Status CheckTexts(const char* field, const std::vector<std::string>& texts, size_t most_texts);

}  // namespace inferd::sampling
