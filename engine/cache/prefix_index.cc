#include "engine/cache/prefix_index.h"

#include <algorithm>
#include <utility>

namespace inferd::cache {
namespace {

// One round of the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t hash, uint64_t value) {
  uint64_t z = hash * 0x9E3779B97F4A7C15u + value + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t PrefixIndex::Root(const PrefixKey& key) {
  return Mix(Mix(Mix(0, 0x696E66657264u), key.adapter), key.tenant_salt);
}

uint64_t PrefixIndex::Extend(uint64_t parent, std::span<const int32_t> tokens) {
  uint64_t chain = parent;
  for (int32_t token : tokens) chain = Mix(chain, static_cast<uint32_t>(token));
  return chain;
}

PrefixIndex::Node* PrefixIndex::Find(uint64_t parent, std::span<const int32_t> tokens) {
  auto found = nodes_.find(Extend(parent, tokens));
  if (found == nodes_.end()) return nullptr;
  Node& node = found->second;
  const bool same = node.parent == parent && std::equal(tokens.begin(), tokens.end(), node.tokens.begin());
  return same ? &node : nullptr;
}

PrefixIndex::Node* PrefixIndex::Insert(uint64_t parent, std::span<const int32_t> tokens, std::vector<int32_t> pages) {
  const uint64_t chain = Extend(parent, tokens);
  auto [place, inserted] = nodes_.try_emplace(chain);
  if (!inserted) return nullptr;
  Node& node = place->second;
  node.parent = parent;
  node.chain = chain;
  std::copy(tokens.begin(), tokens.end(), node.tokens.begin());
  node.pages = std::move(pages);
  node.use = uses_.insert(uses_.end(), &node);
  return &node;
}

void PrefixIndex::TouchChain(uint64_t chain) {
  for (auto found = nodes_.find(chain); found != nodes_.end(); found = nodes_.find(found->second.parent)) {
    uses_.splice(uses_.end(), uses_, found->second.use);
  }
}

void PrefixIndex::Erase(Node& node) {
  uses_.erase(node.use);
  nodes_.erase(node.chain);
}

void PrefixIndex::VisitOldest(const std::function<bool(Node&)>& stop) {
  for (auto next = uses_.begin(); next != uses_.end();) {
    Node& node = **next;
    ++next;
    if (stop(node)) return;
  }
}

}  // namespace inferd::cache
