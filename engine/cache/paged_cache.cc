// Page tables change only here. A page is written only by the one sequence that holds it, and never after it is full.
#include "engine/cache/paged_cache.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "config/base/status.h"

namespace inferd::cache {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;
constexpr int64_t kSnapshotSlots = 16;  // states kept for reuse, beside those of live sequences
int64_t PagesFor(int64_t tokens) { return (tokens + kPage - 1) / kPage; }

}  // namespace

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Create(CacheLayout layout, const CacheOptions& options,
                                                         PageMemory& memory) {
  return PagedCache::Create(std::move(layout), options, memory);
}

absl::StatusOr<std::unique_ptr<PagedCache>> PagedCache::Create(CacheLayout layout, const CacheOptions& options,
                                                               PageMemory& memory) {
  SipKey secret;
  if (getrandom(secret.data(), sizeof(secret), 0) != sizeof(secret)) return FromErrno(errno, "getrandom");
  auto cache = std::unique_ptr<PagedCache>(new PagedCache(secret, memory));
  cache->options_ = options;
  cache->slot_bytes_ = SlotBytes(layout);
  const int64_t slots = options.max_sequences + (options.prefix_reuse ? kSnapshotSlots : 0);
  const int64_t state_bytes = slots * cache->slot_bytes_;
  if (state_bytes > static_cast<int64_t>(options.bytes)) {
    return InvalidField("kv_cache.bytes", "{} is too small, the recurrent state of {} sequences takes {}",
                        options.bytes, options.max_sequences, state_bytes);
  }
  if (cache->slot_bytes_ > 0) {
    for (int64_t slot = slots - 1; slot >= 0; --slot) cache->free_slots_.push_back(static_cast<int32_t>(slot));
  }

  int64_t block_bytes = 0, smallest = 0;
  for (int64_t bytes : layout.page_bytes) block_bytes = std::max(block_bytes, AlignPart(bytes));
  std::vector<int32_t> layers_of_group;
  for (const CacheLayout::Group& group : layout.groups) {
    layers_of_group.push_back(static_cast<int32_t>(group.layers.size()));
    smallest += static_cast<int64_t>(group.layers.size()) * block_bytes;
  }
  const int64_t page_bytes = static_cast<int64_t>(options.bytes) - state_bytes;
  if (smallest > page_bytes) {
    return InvalidField("kv_cache.bytes", "{} is too small, {} tokens of one sequence take {}", options.bytes, kPage,
                        smallest + state_bytes);
  }
  cache->layout_ = std::move(layout);
  cache->size_ = {.blocks = block_bytes == 0 ? 0 : page_bytes / block_bytes,
                  .block_bytes = block_bytes,
                  .slots = cache->slot_bytes_ == 0 ? 0 : slots};
  RETURN_IF_ERROR(memory.Create(cache->layout_, cache->size_));
  cache->store_ = std::make_unique<PageStore>(memory, std::move(layers_of_group), cache->size_.blocks);
  return cache;
}

PagedCache::~PagedCache() { CHECK(stats_.sequences == 0); }

PagedSequence::PagedSequence(PagedCache& cache, const PrefixKey& key)
    : cache_(cache),
      chain_(cache.index_.Root(key)),
      pages_(cache.groups()),
      known_(cache.groups(), 0),
      dropped_(cache.groups(), 0),
      number_(cache.sequences_made_++) {
  ++cache_.stats_.sequences;
}

PagedSequence::~PagedSequence() {
  cache_.Release(*this);
  --cache_.stats_.sequences;
}

void PagedSequence::SetPage(int32_t group, int64_t index, int32_t page) {
  std::vector<int32_t>& table = pages_[group];
  if (index == static_cast<int64_t>(table.size())) table.push_back(-1);
  table[index] = page;
  if (page >= 0) known_[group] = std::min(known_[group], index);
}

absl::StatusOr<std::unique_ptr<Sequence>> PagedCache::NewSequence(const PrefixKey& key, bool keep) {
  if (stats_.sequences >= options_.max_sequences) {
    return ResourceExhausted("sequences: all {} are in use", options_.max_sequences);
  }
  auto sequence = std::make_unique<PagedSequence>(*this, key);
  sequence->indexable_ = keep;
  if (recurrent()) {
    sequence->slot_ = TakeSlot();
    CHECK(sequence->slot_ >= 0);
    memory_.ZeroState(sequence->slot_);
  }
  return sequence;
}

// The first page that a query at position `length` sees.
int64_t PagedCache::FirstVisiblePage(int32_t group, int64_t length) const {
  const int64_t window = layout_.groups[group].window;
  return window == 0 ? 0 : std::max<int64_t>(0, length - window + 1) / kPage;
}

bool PagedCache::SharesPartialPage(const PagedSequence& s, int32_t group) const {
  return s.length_ % kPage != 0 && store_->references(s.pages_[group][s.length_ / kPage]) > 1;
}

// Blocks that must be free so that the sequence has `pages` pages, the last of those it has being its own.
int64_t PagedCache::BlocksNeeded(const PagedSequence& s, int64_t pages) const {
  int64_t blocks = 0;
  for (int32_t group = 0; group < groups(); ++group) {
    const auto& table = s.pages_[group];
    int64_t wanted = std::max<int64_t>(pages - static_cast<int64_t>(table.size()), 0);
    if (SharesPartialPage(s, group)) ++wanted;
    blocks += wanted * store_->BlocksOf(group);
  }
  return blocks;
}

absl::Status PagedCache::Reserve(Sequence& sequence, int64_t tokens) {
  auto& s = static_cast<PagedSequence&>(sequence);
  if (tokens == 0) {
    s.reserved_ = s.length_;
    return absl::OkStatus();
  }
  const int64_t end = s.length_ + tokens;
  const int64_t pages = PagesFor(end);
  int64_t blocks = BlocksNeeded(s, pages);
  if (blocks > AvailableBlocks() && FreeSharedTail(s)) blocks = BlocksNeeded(s, pages);
  if (blocks > AvailableBlocks()) {
    return ResourceExhausted("kv_cache: {} blocks needed, {} of {} available", blocks, AvailableBlocks(),
                             store_->total_blocks());
  }
  MakeRoom(blocks);
  for (int32_t group = 0; group < groups(); ++group) {
    auto& table = s.pages_[group];
    if (SharesPartialPage(s, group)) {
      const int64_t partial = s.length_ / kPage;
      const int32_t copy = store_->Allocate(group);
      memory_.Copy(table[partial], copy);
      store_->Unreference(table[partial]);
      s.SetPage(group, partial, copy);
    }
    while (static_cast<int64_t>(table.size()) < pages) {
      s.SetPage(group, static_cast<int64_t>(table.size()), store_->Allocate(group));
    }
  }
  s.reserved_ = std::max(s.reserved_, end);
  s.shared_tail_ = 0;
  return absl::OkStatus();
}

void PagedCache::MakeRoom(int64_t blocks) {
  if (store_->free_blocks() >= blocks) return;
  index_.VisitOldest([&](PrefixIndex::Node& node) {
    const bool reclaimable =
        std::any_of(node.pages.begin(), node.pages.end(), [&](int32_t page) { return store_->references(page) == 1; });
    if (reclaimable) {
      EraseNode(node);
      ++stats_.pages_evicted;
    }
    return store_->free_blocks() >= blocks;
  });
  CHECK(store_->free_blocks() >= blocks);
}

void PagedCache::Commit(Sequence& sequence, std::span<const int32_t> tokens) {
  auto& s = static_cast<PagedSequence&>(sequence);
  const int64_t begin = s.length_, end = begin + static_cast<int64_t>(tokens.size());
  CHECK(end <= s.reserved_);
  for (int32_t token : tokens) {
    s.tail_.push_back(token);
    if (static_cast<int64_t>(s.tail_.size()) == kPage) {
      IndexPage(s, (s.length_ + 1) / kPage - 1, /*ends_here=*/s.length_ + 1 == end);
      s.tail_.clear();
    }
    ++s.length_;
  }
  if (end / kPage > begin / kPage) index_.TouchChain(s.chain_);
  for (int32_t group = 0; group < groups(); ++group) s.known_[group] = static_cast<int64_t>(s.pages_[group].size());
  DropPassedPages(s);
}

int32_t PagedCache::TakeSlot() {
  if (free_slots_.empty()) {
    if (PrefixIndex::Node* const node = index_.LeastState()) DropState(*node);
  }
  if (free_slots_.empty()) return -1;
  const int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void PagedCache::DropPassedPages(PagedSequence& s) {
  for (int32_t group = 0; group < groups(); ++group) {
    const int64_t first = std::min<int64_t>(FirstVisiblePage(group, s.length_), s.pages_[group].size());
    for (int64_t& i = s.dropped_[group]; i < first; ++i) {
      store_->Unreference(s.pages_[group][i]);
      s.SetPage(group, i, -1);
    }
  }
}

void PagedCache::Release(PagedSequence& s) {
  IndexTail(s);
  for (auto& table : s.pages_) {
    for (int32_t page : table) {
      if (page >= 0) store_->Unreference(page);
    }
  }
  if (s.slot_ >= 0) free_slots_.push_back(s.slot_);
}

absl::StatusOr<std::unique_ptr<Sequence>> PagedCache::Fork(const Sequence& sequence) {
  const auto& from = static_cast<const PagedSequence&>(sequence);
  ASSIGN_OR_RETURN(std::unique_ptr<Sequence> copy, NewSequence({}, /*keep=*/true));
  auto& s = static_cast<PagedSequence&>(*copy);
  s.length_ = from.length_;
  s.reserved_ = from.length_;
  s.chain_ = from.chain_;
  s.indexable_ = from.indexable_;
  s.tail_ = from.tail_;
  s.dropped_ = from.dropped_;
  for (int32_t group = 0; group < groups(); ++group) {
    for (int64_t i = 0; i < PagesFor(from.length_); ++i) {
      const int32_t page = from.pages_[group][i];
      if (page >= 0) store_->Reference(page);
      s.SetPage(group, i, page);
    }
  }
  if (recurrent()) memory_.CopyState(from.slot_, s.slot_);
  return copy;
}

int64_t PagedCache::AvailableBlocks() const { return store_->free_blocks() + store_->cached_blocks(); }

std::vector<int64_t> PagedCache::FreedBlocks(std::span<const Sequence* const> in_order) const {
  std::vector<int64_t> freed;
  std::vector<int32_t> gone(store_->most_pages());  // of a page's references
  for (const Sequence* sequence : in_order) {
    int64_t& blocks = freed.emplace_back(0);
    for (int32_t group = 0; group < groups(); ++group) {
      for (int32_t page : static_cast<const PagedSequence*>(sequence)->pages_[group]) {
        if (page >= 0 && ++gone[page] == store_->users(page)) blocks += store_->BlocksOf(group);
      }
    }
  }
  return freed;
}

int64_t PagedCache::BlocksFor(int64_t tokens) const {
  int64_t blocks = 0;
  for (int32_t group = 0; group < groups(); ++group) {
    int64_t pages = PagesFor(tokens);
    const int64_t window = layout_.groups[group].window;
    if (window > 0 && options_.step_tokens > 0) {
      const int64_t seen = window - 1 + options_.step_tokens;  // by the queries of one step, anywhere in the pages
      pages = std::min(pages, (seen + kPage - 2) / kPage + 1);
    }
    blocks += pages * store_->BlocksOf(group);
  }
  return blocks;
}

CacheStats PagedCache::Stats() const {
  CacheStats stats = stats_;
  stats.blocks_total = store_->total_blocks();
  stats.block_bytes = size_.block_bytes;
  stats.state_bytes = size_.slots * slot_bytes_;
  stats.blocks_cached = store_->cached_blocks();
  stats.prefix_pages = index_.size();
  stats.blocks_used = stats.blocks_total - store_->free_blocks() - stats.blocks_cached;
  return stats;
}

}  // namespace inferd::cache
