// Which pages are known: a hash chain from (adapter, tenant salt) over the tokens of each page leads to the pages that
// hold them and, for recurrent models, to the state after them. The last page of a text may not be full.
//
//   PrefixIndex::Beginning known = index.FindBeginning(index.Root(key), tokens, /*with_state=*/false);
//   PrefixIndex::Node* node = index.Insert(chain, tokens_of_next_page, pages);    // chain: of the last of known.nodes
//   index.TouchChain(node->chain);
//
// The hash has a secret key, so that no tenant can construct a text that is taken for another; the tokens of each page
// are kept and compared as well. Nodes are in order of use, oldest first; the owner drops them to get memory back.
//
// One thread changes the index and uses its nodes; CountKnown may be called by any.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "engine/cache/kv_cache.h"
#include "engine/cache/sip_hash.h"
#include "kernels/kernels.h"

namespace inferd::cache {

class PrefixIndex {
 public:
  struct Node {
    uint64_t parent = 0, chain = 0;
    std::vector<int32_t> tokens;  // at most a page of them
    std::vector<int32_t> pages;   // [groups]
    int32_t state = -1;           // slot of the state after this page, or none
    std::list<Node*>::iterator use;

    bool full() const { return static_cast<int64_t>(tokens.size()) == kernels::kPageTokens; }
  };
  struct Match {
    Node* node = nullptr;
    int64_t tokens = 0;  // of the node, from its first on, that are equal
  };
  struct Beginning {
    std::vector<Node*> nodes;  // from the root on; of the last, perhaps only a part
    int64_t tokens = 0;
  };

  explicit PrefixIndex(const SipKey& secret) : secret_(secret) {}

  // Before there are nodes: those of an index with this secret can be inserted.
  void SetSecret(const SipKey& secret);
  const SipKey& secret() const { return secret_; }
  uint64_t HashOf(std::string_view text) const;

  uint64_t Root(const PrefixKey& key) const;
  uint64_t Extend(uint64_t parent, std::span<const int32_t> tokens) const;

  Node* Find(uint64_t parent, std::span<const int32_t> tokens);
  Node* FindChain(uint64_t chain);
  // Of the nodes after `parent`, one that begins with the most of `tokens`.
  Match FindLongest(uint64_t parent, std::span<const int32_t> tokens);
  // What is known of the beginning of `tokens`, never all of them. `with_state`: as far as a state is kept, which is
  // that after the last node, so that of a page that is not full all tokens must be the same.
  Beginning FindBeginning(uint64_t root, std::span<const int32_t> tokens, bool with_state);
  // nullptr if the place is taken: by the same tokens, or (once in 2^64) by others with the same hash.
  Node* Insert(uint64_t parent, std::span<const int32_t> tokens, std::vector<int32_t> pages);
  void SetState(Node& node, int32_t slot);
  // Of the nodes with a state, the one that is missed least; nullptr: there is none.
  Node* LeastState();
  // Makes the nodes from this one back to the root the most recently used, so that ends are dropped before beginnings.
  void TouchChain(uint64_t chain);
  void MakeOldest(Node& node) { uses_.splice(uses_.begin(), uses_, node.use); }
  void Erase(Node& node);
  // Visits nodes from the oldest until `stop` says true; the visitor may erase the node that it is given.
  void VisitOldest(const std::function<bool(Node&)>& stop);
  void VisitNewest(const std::function<bool(const Node&)>& stop) const;
  int64_t size() const { return static_cast<int64_t>(uses_.size()); }

  // Tokens that FindBeginning finds.
  int64_t CountKnown(const PrefixKey& key, std::span<const int32_t> tokens, bool with_state) const;

 private:
  struct Place {
    uint64_t parent;
    std::span<const int32_t> tokens;
  };
  // By parent, then by tokens: neighbours have the longest beginnings in common.
  struct Before {
    using is_transparent = void;
    static Place Of(const Node* node) { return {node->parent, node->tokens}; }
    static bool Compare(const Place& a, const Place& b);
    bool operator()(const Node* a, const Node* b) const { return Compare(Of(a), Of(b)); }
    bool operator()(const Node* a, const Place& b) const { return Compare(Of(a), b); }
    bool operator()(const Place& a, const Node* b) const { return Compare(a, Of(b)); }
  };
  const Node* FindLocked(uint64_t parent, std::span<const int32_t> tokens) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Match FindLongestLocked(uint64_t parent, std::span<const int32_t> tokens) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Match FindWithStateLocked(uint64_t parent, std::span<const int32_t> tokens) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Beginning FindBeginningLocked(uint64_t root, std::span<const int32_t> tokens, bool with_state) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SipKey secret_;
  std::list<Node*> uses_;
  mutable absl::Mutex mutex_;                                          // against CountKnown
  absl::node_hash_map<uint64_t, Node> nodes_ ABSL_GUARDED_BY(mutex_);  // by chain
  std::set<Node*, Before> ordered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::cache
