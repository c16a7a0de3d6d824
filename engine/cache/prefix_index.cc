#include "engine/cache/prefix_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "config/base/status.h"

namespace inferd::cache {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

constexpr int64_t kLeastMatch = 4;  // tokens; a page is copied for them

}  // namespace

bool PrefixIndex::Before::Compare(const Place& a, const Place& b) {
  if (a.parent != b.parent) return a.parent < b.parent;
  return std::lexicographical_compare(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end());
}

void PrefixIndex::SetSecret(const SipKey& secret) {
  CHECK(size() == 0);
  secret_ = secret;
}

uint64_t PrefixIndex::HashOf(std::string_view text) const {
  return SipHash(secret_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

uint64_t PrefixIndex::Root(const PrefixKey& key) const {
  const uint64_t words[] = {key.adapter, key.tenant_salt};
  return SipHash(secret_, {reinterpret_cast<const uint8_t*>(words), sizeof(words)});
}

uint64_t PrefixIndex::Extend(uint64_t parent, std::span<const int32_t> tokens) const {
  CHECK(tokens.size() <= kPage);
  std::array<uint8_t, sizeof(parent) + kPage * sizeof(int32_t)> bytes;
  std::memcpy(bytes.data(), &parent, sizeof(parent));
  std::copy_n(reinterpret_cast<const uint8_t*>(tokens.data()), tokens.size_bytes(), bytes.data() + sizeof(parent));
  return SipHash(secret_, std::span(bytes).first(sizeof(parent) + tokens.size_bytes()));
}

const PrefixIndex::Node* PrefixIndex::FindLocked(uint64_t parent, std::span<const int32_t> tokens) const {
  const auto found = nodes_.find(Extend(parent, tokens));
  if (found == nodes_.end()) return nullptr;
  const Node& node = found->second;
  const bool same =
      node.parent == parent && std::equal(tokens.begin(), tokens.end(), node.tokens.begin(), node.tokens.end());
  return same ? &node : nullptr;
}

PrefixIndex::Node* PrefixIndex::Find(uint64_t parent, std::span<const int32_t> tokens) {
  absl::MutexLock lock(&mutex_);
  return const_cast<Node*>(FindLocked(parent, tokens));
}

PrefixIndex::Node* PrefixIndex::FindChain(uint64_t chain) {
  absl::MutexLock lock(&mutex_);
  const auto found = nodes_.find(chain);
  return found == nodes_.end() ? nullptr : &found->second;
}

PrefixIndex::Match PrefixIndex::FindLongestLocked(uint64_t parent, std::span<const int32_t> tokens) const {
  Match longest;
  const auto consider = [&](Node* node) {
    if (node->parent != parent) return;
    const auto [end, _] = std::mismatch(node->tokens.begin(), node->tokens.end(), tokens.begin(), tokens.end());
    const int64_t common = end - node->tokens.begin();
    if (common >= kLeastMatch && common > longest.tokens) longest = {node, common};
  };
  const auto next = ordered_.lower_bound(Place{parent, tokens});
  if (next != ordered_.end()) consider(*next);
  if (next != ordered_.begin()) consider(*std::prev(next));
  return longest;
}

PrefixIndex::Match PrefixIndex::FindLongest(uint64_t parent, std::span<const int32_t> tokens) {
  absl::MutexLock lock(&mutex_);
  return FindLongestLocked(parent, tokens);
}

// The longest node with a state of which all tokens are the first of `tokens`. In their order it lies before `tokens`,
// and what lies between them tells how long it is at most.
PrefixIndex::Match PrefixIndex::FindWithStateLocked(uint64_t parent, std::span<const int32_t> tokens) const {
  while (!tokens.empty()) {
    const auto next = ordered_.upper_bound(Place{parent, tokens});
    if (next == ordered_.begin()) break;
    Node* const node = *std::prev(next);
    if (node->parent != parent) break;
    const auto [end, _] = std::mismatch(node->tokens.begin(), node->tokens.end(), tokens.begin(), tokens.end());
    const int64_t common = end - node->tokens.begin();
    const bool all = end == node->tokens.end();
    if (all && node->state >= 0) return {node, common};
    tokens = tokens.first(static_cast<size_t>(all ? common - 1 : common));
  }
  return {};
}

// Of a text that others have gone on from, a page may be known that ends there and has a state where longer ones have
// none.
PrefixIndex::Beginning PrefixIndex::FindBeginningLocked(uint64_t root, std::span<const int32_t> tokens,
                                                        bool with_state) const {
  Beginning found;
  if (tokens.empty()) return found;
  const auto rest = [&] { return tokens.subspan(found.nodes.size() * kPage); };
  const auto chain = [&] { return found.nodes.empty() ? root : found.nodes.back()->chain; };
  while (static_cast<int64_t>(rest().size()) > kPage) {
    const Node* const node = FindLocked(chain(), rest().first(kPage));
    if (node == nullptr) break;
    found.nodes.push_back(const_cast<Node*>(node));
  }
  Match tail;
  for (;; found.nodes.pop_back()) {
    const std::span<const int32_t> most = rest().first(std::min<size_t>(rest().size() - 1, kPage));
    tail = with_state ? FindWithStateLocked(chain(), most) : FindLongestLocked(chain(), most);
    if (!with_state || tail.node != nullptr || found.nodes.empty() || found.nodes.back()->state >= 0) break;
  }
  found.tokens = static_cast<int64_t>(found.nodes.size()) * kPage + tail.tokens;
  if (tail.node != nullptr) found.nodes.push_back(tail.node);
  return found;
}

PrefixIndex::Beginning PrefixIndex::FindBeginning(uint64_t root, std::span<const int32_t> tokens, bool with_state) {
  absl::MutexLock lock(&mutex_);
  return FindBeginningLocked(root, tokens, with_state);
}

PrefixIndex::Node* PrefixIndex::Insert(uint64_t parent, std::span<const int32_t> tokens, std::vector<int32_t> pages) {
  const uint64_t chain = Extend(parent, tokens);
  absl::MutexLock lock(&mutex_);
  auto [place, inserted] = nodes_.try_emplace(chain);
  if (!inserted) return nullptr;
  Node& node = place->second;
  node.parent = parent;
  node.chain = chain;
  node.tokens.assign(tokens.begin(), tokens.end());
  node.pages = std::move(pages);
  node.use = uses_.insert(uses_.end(), &node);
  ordered_.insert(&node);
  return &node;
}

void PrefixIndex::SetState(Node& node, int32_t slot) {
  absl::MutexLock lock(&mutex_);
  node.state = slot;
}

// The oldest in use. But a text goes on from its last state, which is the oldest of its own: the one before that goes
// first, unless another text has used it since.
PrefixIndex::Node* PrefixIndex::LeastState() {
  std::array<Node*, 2> oldest = {};
  VisitOldest([&](Node& node) {
    if (node.state >= 0) oldest[oldest[0] == nullptr ? 0 : 1] = &node;
    return oldest[1] != nullptr;
  });
  if (oldest[1] == nullptr) return oldest[0];
  const Node* before = FindChain(oldest[0]->parent);
  while (before != nullptr && before->state < 0) before = FindChain(before->parent);
  return before == oldest[1] ? oldest[1] : oldest[0];
}

void PrefixIndex::TouchChain(uint64_t chain) {
  for (Node* node = FindChain(chain); node != nullptr; node = FindChain(node->parent)) {
    uses_.splice(uses_.end(), uses_, node->use);
  }
}

void PrefixIndex::Erase(Node& node) {
  uses_.erase(node.use);
  absl::MutexLock lock(&mutex_);
  ordered_.erase(&node);
  nodes_.erase(node.chain);
}

void PrefixIndex::VisitOldest(const std::function<bool(Node&)>& stop) {
  for (auto next = uses_.begin(); next != uses_.end();) {
    Node& node = **next;
    ++next;
    if (stop(node)) return;
  }
}

void PrefixIndex::VisitNewest(const std::function<bool(const Node&)>& stop) const {
  for (auto next = uses_.rbegin(); next != uses_.rend(); ++next) {
    if (stop(**next)) return;
  }
}

int64_t PrefixIndex::CountKnown(const PrefixKey& key, std::span<const int32_t> tokens, bool with_state) const {
  absl::MutexLock lock(&mutex_);
  return FindBeginningLocked(Root(key), tokens, with_state).tokens;
}

}  // namespace inferd::cache
