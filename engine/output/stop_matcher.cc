// Building the automaton (at most 4096 nodes), and walking it.
#include "engine/output/stop_matcher.h"

#include <deque>

#include "config/base/status.h"

namespace inferd::output {

absl::Status StopTexts::Check(const std::vector<std::string>& texts) {
  if (texts.size() > kMostTexts) {
    return InvalidArgument("stop: {} texts, expected at most {}", texts.size(), kMostTexts);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || texts[i].size() > kMostBytes) {
      return InvalidArgument("stop: text {} has {} bytes, expected 1 to {}", i, texts[i].size(), kMostBytes);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const StopTexts>> StopTexts::Create(const std::vector<std::string>& texts) {
  RETURN_IF_ERROR(Check(texts));
  return std::shared_ptr<const StopTexts>(new StopTexts(texts));
}

StopTexts::StopTexts(const std::vector<std::string>& texts) : texts_(texts), nodes_(1) {
  constexpr int32_t kNone = -1;
  nodes_[0].next.fill(kNone);
  for (size_t i = 0; i < texts_.size(); ++i) {
    int32_t node = 0;
    for (unsigned char byte : texts_[i]) {
      if (nodes_[node].next[byte] == kNone) {
        nodes_[node].next[byte] = static_cast<int32_t>(nodes_.size());
        nodes_.push_back({.depth = nodes_[node].depth + 1});
        nodes_.back().next.fill(kNone);
      }
      node = nodes_[node].next[byte];
    }
    nodes_[node].match = static_cast<int32_t>(i);
  }
  // Breadth first: the fallback of a node is complete before the node itself.
  std::deque<std::pair<int32_t, int32_t>> open{{0, 0}};  // node, its longest proper suffix in the tree
  while (!open.empty()) {
    const auto [node, fallback] = open.front();
    open.pop_front();
    if (nodes_[node].match == kNone) nodes_[node].match = nodes_[fallback].match;
    for (int byte = 0; byte < 256; ++byte) {
      const int32_t behind = node == 0 ? 0 : nodes_[fallback].next[byte];
      int32_t& next = nodes_[node].next[byte];
      if (next == kNone) {
        next = behind;
      } else {
        open.push_back({next, behind});
      }
    }
  }
}

std::string StopMatcher::Push(std::string_view text) {
  if (stopped_) return "";
  for (size_t i = 0; i < text.size(); ++i) {
    node_ = texts_->nodes_[node_].next[static_cast<unsigned char>(text[i])];
    const int32_t match = texts_->nodes_[node_].match;
    if (match < 0) continue;
    stopped_ = texts_->texts_[match];
    held_.append(text.substr(0, i + 1));
    held_.resize(held_.size() - stopped_->size());
    return std::exchange(held_, "");
  }
  held_.append(text);
  // The matched bytes may reach into a character, but never begin within one: stop texts are valid UTF-8.
  std::string out = held_.substr(0, held_.size() - static_cast<size_t>(texts_->nodes_[node_].depth));
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::Finish() { return std::exchange(held_, ""); }

}  // namespace inferd::output
