// What the cache knows of texts: pages enter the index here, and leave it.
#include <algorithm>
#include <cstring>
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
  std::vector<PrefixIndex::Node*> nodes;
  size_t usable = 0;
  uint64_t chain = s.chain_;
  while (static_cast<int64_t>(nodes.size() + 1) * kPage < static_cast<int64_t>(tokens.size())) {
    PrefixIndex::Node* const node = index_.Find(chain, tokens.subspan(nodes.size() * kPage, kPage));
    if (node == nullptr) break;
    nodes.push_back(node);
    chain = node->chain;
    if (!recurrent() || node->state >= 0) usable = nodes.size();
  }
  nodes.resize(usable);
  PrefixIndex::Match tail;
  if (!recurrent()) {
    const std::span<const int32_t> rest = tokens.subspan(usable * kPage);
    tail = index_.FindLongest(chain, rest.first(rest.size() - 1));
    if (tail.node != nullptr) nodes.push_back(tail.node);
  }
  if (nodes.empty()) return 0;
  if (usable > 0) s.chain_ = nodes[usable - 1]->chain;
  s.length_ = s.reserved_ = static_cast<int64_t>(usable) * kPage + tail.tokens;
  s.tail_.assign(tokens.begin() + static_cast<int64_t>(usable) * kPage, tokens.begin() + s.length_);
  if (tail.node != nullptr) s.shared_tail_ = tail.node->chain;
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
  if (recurrent()) std::memcpy(Slot(s.slot_), Slot(nodes.back()->state), slot_bytes_);
  stats_.prefix_tokens_reused += s.length_;
  return s.length_;
}

int64_t PagedCache::CountKnown(const PrefixKey& key, std::span<const int32_t> tokens) const {
  return options_.prefix_reuse ? index_.CountKnown(key, tokens, /*whole_pages=*/recurrent()) : 0;
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
  if (!options_.prefix_reuse || !s.indexable_ || recurrent() || s.tail_.size() < kLeastTail) return;
  const int64_t page = s.length_ / kPage;
  for (int32_t group = 0; group < groups(); ++group) {
    if (SharesPartialPage(s, group)) return;  // it is in the index
  }
  const PrefixIndex::Match known = index_.FindLongest(s.chain_, s.tail_);
  if (known.tokens == static_cast<int64_t>(s.tail_.size())) return index_.TouchChain(known.node->chain);
  if (known.node != nullptr && known.tokens == static_cast<int64_t>(known.node->tokens.size())) {
    EraseNode(*known.node);  // a beginning of the new one
  }
  if (const PrefixIndex::Node* node = AddNode(s, page)) index_.TouchChain(node->chain);
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
  std::memcpy(Slot(slot), Slot(s.slot_), slot_bytes_);
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
