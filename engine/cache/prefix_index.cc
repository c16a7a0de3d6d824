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

int64_t PrefixIndex::CountKnown(const PrefixKey& key, std::span<const int32_t> tokens, bool whole_pages) const {
  absl::MutexLock lock(&mutex_);
  uint64_t chain = Root(key);
  int64_t known = 0, usable = 0;
  while (known + kPage < static_cast<int64_t>(tokens.size())) {
    const Node* node = FindLocked(chain, tokens.subspan(static_cast<size_t>(known), kPage));
    if (node == nullptr) break;
    known += kPage;
    chain = node->chain;
    if (!whole_pages || node->state >= 0) usable = known;
  }
  if (whole_pages || tokens.empty()) return usable;
  const std::span<const int32_t> rest = tokens.subspan(static_cast<size_t>(known));
  return known + FindLongestLocked(chain, rest.first(rest.size() - 1)).tokens;
}

}  // namespace inferd::cache
