// Which full pages are known: a hash chain from (adapter, tenant salt) over the tokens of each page leads to the pages
// that hold them and, for recurrent models, to a copy of the state after them.
//
//   uint64_t chain = PrefixIndex::Root(key);
//   while (const PrefixIndex::Node* node = index.Find(chain, tokens_of_next_page)) chain = node->chain;
//
// The tokens of each page are kept and compared, so that equal hashes of different texts do no harm. Nodes are in order
// of use, oldest first; the owner drops them to get memory back.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "engine/cache/kv_cache.h"
#include "kernels/kernels.h"

namespace inferd::cache {

class PrefixIndex {
 public:
  struct Node {
    uint64_t parent = 0, chain = 0;
    std::array<int32_t, kernels::kPageTokens> tokens;
    std::vector<int32_t> pages;  // [groups]
    int32_t state = -1;          // slot of the state after this page, or none
    std::list<Node*>::iterator use;
  };

  static uint64_t Root(const PrefixKey& key);
  static uint64_t Extend(uint64_t parent, std::span<const int32_t> tokens);

  Node* Find(uint64_t parent, std::span<const int32_t> tokens);
  // nullptr if the place is taken: by the same tokens, or (once in 2^64) by others with the same hash.
  Node* Insert(uint64_t parent, std::span<const int32_t> tokens, std::vector<int32_t> pages);
  // Makes the nodes from this one back to the root the most recently used, so that ends are dropped before beginnings.
  void TouchChain(uint64_t chain);
  void Erase(Node& node);
  // Visits nodes from the oldest until `stop` says true; the visitor may erase the node that it is given.
  void VisitOldest(const std::function<bool(Node&)>& stop);
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }

 private:
  absl::node_hash_map<uint64_t, Node> nodes_;  // by chain
  std::list<Node*> uses_;
};

}  // namespace inferd::cache
