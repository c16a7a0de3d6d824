// What the cache knows of texts: pages enter the index here, and leave it.
#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/cache/paged_cache.h"

namespace inferd::cache {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;
constexpr size_t kLeastTail = 4;  // tokens of a page that is worth keeping

}  // namespace

int64_t PagedCache::AttachPrefix(Sequence& sequence, std::span<const int32_t> tokens) {
  auto& s = static_cast<PagedSequence&>(sequence);
  CHECK(s.length_ == 0 && s.reserved_ == 0 && !tokens.empty());
  stats_.prefix_tokens_asked += tokens.size();
  const PrefixIndex::Beginning known = index_.FindBeginning(s.chain_, tokens, /*with_state=*/recurrent());
  const std::vector<PrefixIndex::Node*>& nodes = known.nodes;
  if (nodes.empty()) return 0;
  const size_t whole = static_cast<size_t>(known.tokens / kPage);
  if (whole > 0) s.chain_ = nodes[whole - 1]->chain;
  if (nodes.size() > whole) s.shared_tail_ = nodes.back()->chain;
  s.length_ = s.reserved_ = known.tokens;
  s.tail_.assign(tokens.begin() + static_cast<int64_t>(whole) * kPage, tokens.begin() + s.length_);
  index_.TouchChain(nodes.back()->chain);
  const int64_t pages = static_cast<int64_t>(nodes.size());
  for (int32_t group = 0; group < groups(); ++group) {
    s.dropped_[group] = std::min<int64_t>(FirstVisiblePage(group, s.length_), pages);
    for (int64_t i = 0; i < pages; ++i) {
      const int32_t page = i < s.dropped_[group] ? -1 : nodes[i]->pages[group];
      if (page >= 0) store_->Reference(page);
      s.SetPage(group, i, page);
    }
  }
  if (recurrent()) memory_.CopyState(nodes.back()->state, s.slot_);
  stats_.prefix_tokens_reused += s.length_;
  return s.length_;
}

int64_t PagedCache::CountKnown(const PrefixKey& key, std::span<const int32_t> tokens) const {
  return options_.prefix_reuse ? index_.CountKnown(key, tokens, /*with_state=*/recurrent()) : 0;
}

// The page that is not full stays the sequence's alone: the index lets it go. False: it was not shared with the index.
bool PagedCache::FreeSharedTail(PagedSequence& s) {
  if (s.shared_tail_ == 0) return false;
  PrefixIndex::Node* const node = index_.FindChain(std::exchange(s.shared_tail_, 0));
  if (node == nullptr) return false;
  EraseNode(*node);
  return true;
}

void PagedCache::EraseNode(PrefixIndex::Node& node) {
  for (int32_t page : node.pages) {
    store_->SetIndexed(page, false);
    store_->Unreference(page);
  }
  if (node.state >= 0) free_slots_.push_back(node.state);
  index_.Erase(node);
}

// Page `page` of the sequence has just become full with the tokens of tail_. If the computed tokens end here too, the
// recurrent state is that after this page.
void PagedCache::IndexPage(PagedSequence& s, int64_t page, bool ends_here) {
  if (!options_.prefix_reuse || !s.indexable_) return;
  PrefixIndex::Node* node = index_.Find(s.chain_, s.tail_);
  if (node == nullptr) node = AddNode(s, page);
  s.indexable_ = node != nullptr;
  if (node == nullptr) return;
  s.chain_ = node->chain;
  if (recurrent() && ends_here) KeepState(s, *node);
}

// A sequence ends within a page, which nobody writes to any more.
void PagedCache::IndexTail(PagedSequence& s) {
  if (!options_.prefix_reuse || !s.indexable_ || s.tail_.size() < kLeastTail) return;
  bool shared = false;  // with the index, or with a fork that needs it for its own, where there is no room for a copy
  for (int32_t group = 0; group < groups(); ++group) shared = shared || SharesPartialPage(s, group);
  if (recurrent()) return IndexTailWithState(s, shared);
  if (shared) return;
  const PrefixIndex::Match known = index_.FindLongest(s.chain_, s.tail_);
  if (known.tokens == static_cast<int64_t>(s.tail_.size())) return index_.TouchChain(known.node->chain);
  if (known.node != nullptr && known.tokens == static_cast<int64_t>(known.node->tokens.size())) {
    EraseNode(*known.node);  // a beginning of the new one
  }
  if (const PrefixIndex::Node* node = AddNode(s, s.length_ / kPage)) index_.TouchChain(node->chain);
}

// Pages of more and of fewer tokens stay beside it: each state serves the texts that go on from there.
void PagedCache::IndexTailWithState(PagedSequence& s, bool shared) {
  if (s.reserved_ > s.length_) return;  // a pass has failed, and may have moved the state on
  PrefixIndex::Node* node = index_.Find(s.chain_, s.tail_);
  if (node == nullptr && !shared) node = AddNode(s, s.length_ / kPage);
  if (node == nullptr) return;
  if (node->state < 0) index_.SetState(*node, std::exchange(s.slot_, -1));
  index_.TouchChain(node->chain);
}

// The page holds the tokens of tail_.
PrefixIndex::Node* PagedCache::AddNode(PagedSequence& s, int64_t page) {
  if (index_.size() >= kMaximumNodes) DropOldestNode();
  std::vector<int32_t> pages;
  for (int32_t group = 0; group < groups(); ++group) pages.push_back(s.pages_[group][page]);
  PrefixIndex::Node* const node = index_.Insert(s.chain_, s.tail_, pages);
  if (node == nullptr) return nullptr;
  for (int32_t id : pages) {
    store_->Reference(id);
    store_->SetIndexed(id, true);
  }
  return node;
}

void PagedCache::KeepState(PagedSequence& s, PrefixIndex::Node& node) {
  if (node.state >= 0) return;
  const int32_t slot = TakeSlot();
  if (slot < 0) return;
  index_.SetState(node, slot);
  memory_.CopyState(s.slot_, slot);
}

// Without it, a page that is not full is of no use.
void PagedCache::DropState(PrefixIndex::Node& node) {
  if (!node.full()) return EraseNode(node);
  free_slots_.push_back(node.state);
  index_.SetState(node, -1);
}

void PagedCache::DropOldestNode() {
  index_.VisitOldest([&](PrefixIndex::Node& node) {
    EraseNode(node);
    return true;
  });
}

void PagedCache::DropPrefixes() {
  index_.VisitOldest([&](PrefixIndex::Node& node) {
    EraseNode(node);
    return false;
  });
}

}  // namespace inferd::cache
