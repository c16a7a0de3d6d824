// The texts as a tree, then the fallbacks breadth first.
#include "engine/sampling/byte_automaton.h"

#include <deque>

#include "config/base/status.h"

namespace inferd::sampling {
namespace {

constexpr size_t kMostBytes = 256, kMostBytesTogether = 4096;
constexpr int32_t kNone = -1;

}  // namespace

ByteAutomaton::ByteAutomaton(const std::vector<std::string>& texts) : nodes_(1) {
  nodes_[0].next.fill(kNone);
  for (size_t i = 0; i < texts.size(); ++i) {
    int32_t node = 0;
    for (unsigned char byte : texts[i]) {
      if (nodes_[node].next[byte] == kNone) {
        nodes_[node].next[byte] = states();
        nodes_.push_back({.depth = nodes_[node].depth + 1});
        nodes_.back().next.fill(kNone);
      }
      node = nodes_[node].next[byte];
    }
    nodes_[node].match = static_cast<int32_t>(i);
  }
  std::deque<int32_t> open{0};
  while (!open.empty()) {
    const int32_t node = open.front();
    open.pop_front();
    const int32_t fallback = nodes_[node].fallback;
    if (nodes_[node].match == kNone) nodes_[node].match = nodes_[fallback].match;
    for (int byte = 0; byte < 256; ++byte) {
      const int32_t behind = node == 0 ? 0 : nodes_[fallback].next[byte];
      int32_t& next = nodes_[node].next[byte];
      if (next == kNone) {
        next = behind;
      } else {
        nodes_[next].fallback = behind;
        open.push_back(next);
      }
    }
  }
}

absl::Status CheckTexts(const char* field, const std::vector<std::string>& texts, size_t most_texts) {
  if (texts.size() > most_texts) {
    return InvalidField(field, "{} texts, expected at most {}", texts.size(), most_texts);
  }
  size_t together = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || texts[i].size() > kMostBytes) {
      return InvalidField(field, "text {} has {} bytes, expected 1 to {}", i, texts[i].size(), kMostBytes);
    }
    together += texts[i].size();
  }
  if (together > kMostBytesTogether) {
    return InvalidField(field, "{} bytes together, expected at most {}", together, kMostBytesTogether);
  }
  return absl::OkStatus();
}

}  // namespace inferd::sampling
