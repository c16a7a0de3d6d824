// The cache behind the interface of kv_cache.h: page tables over a PageStore, a PrefixIndex, and state slots.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/cache/page_store.h"
#include "engine/cache/prefix_index.h"

namespace inferd::cache {

class PagedCache;

class PagedSequence final : public Sequence {
 public:
  PagedSequence(PagedCache& cache, const PrefixKey& key);
  ~PagedSequence() override;
  int64_t length() const override { return length_; }
  int64_t reserved() const override { return reserved_; }
  std::span<const int32_t> pages(int32_t group) const override { return pages_[group]; }
  int64_t known_pages(int32_t group) const override { return known_[group]; }
  int32_t slot() const override { return slot_; }
  uint64_t number() const override { return number_; }

 private:
  friend class PagedCache;
  void SetPage(int32_t group, int64_t index, int32_t page);  // -1: none; extends the table by at most one

  PagedCache& cache_;
  int64_t length_ = 0, reserved_ = 0;
  uint64_t chain_;                           // hash chain of the full pages so far
  bool indexable_ = true;                    // false: not to be kept, or the index has another text in its place
  uint64_t shared_tail_ = 0;                 // index entry of the page that is not full, while it is shared
  std::vector<int32_t> tail_;                // tokens after the last full page
  std::vector<std::vector<int32_t>> pages_;  // [groups][ceil(reserved / 64)], -1: before the window
  std::vector<int64_t> known_;               // [groups]
  std::vector<int64_t> dropped_;             // [groups] leading entries of pages_ that are -1
  int32_t slot_ = -1;
  uint64_t number_;
};

class PagedCache final : public KvCache {
 public:
  static absl::StatusOr<std::unique_ptr<PagedCache>> Create(CacheLayout layout, const CacheOptions& options,
                                                            PageMemory& memory);
  ~PagedCache() override;

  int32_t groups() const override { return static_cast<int32_t>(layout_.groups.size()); }
  absl::StatusOr<std::unique_ptr<Sequence>> NewSequence(const PrefixKey& key, bool keep) override;
  int64_t AttachPrefix(Sequence& sequence, std::span<const int32_t> tokens) override;
  absl::Status Reserve(Sequence& sequence, int64_t tokens) override;
  void Commit(Sequence& sequence, std::span<const int32_t> tokens) override;
  absl::StatusOr<std::unique_ptr<Sequence>> Fork(const Sequence& sequence) override;
  int64_t AvailableBlocks() const override;
  int64_t BlocksFor(int64_t tokens) const override;
  std::vector<int64_t> FreedBlocks(std::span<const Sequence* const> in_order) const override;
  int64_t CountKnown(const PrefixKey& key, std::span<const int32_t> tokens) const override;
  CacheStats Stats() const override;
  void DropPrefixes() override;
  uint64_t SaltOf(std::string_view text) const override { return index_.HashOf(text); }
  absl::StatusOr<SavedPrefixes> SavePrefixes(std::string_view identity, int64_t most_bytes, ByteSink& sink) override;
  absl::StatusOr<SavedPrefixes> LoadPrefixes(std::string_view identity, ByteSource& source,
                                             const std::function<bool()>& stop) override;

 private:
  friend class PagedSequence;
  static constexpr int64_t kMaximumNodes = 1 << 16;  // bounds the index of a model whose pages take no blocks

  PagedCache(const SipKey& secret, PageMemory& memory) : memory_(memory), index_(secret) {}
  bool recurrent() const { return slot_bytes_ > 0; }
  int64_t FirstVisiblePage(int32_t group, int64_t length) const;
  bool SharesPartialPage(const PagedSequence& sequence, int32_t group) const;
  int64_t BlocksNeeded(const PagedSequence& sequence, int64_t pages) const;
  void MakeRoom(int64_t blocks);
  void EraseNode(PrefixIndex::Node& node);
  void DropOldestNode();
  int32_t TakeSlot();  // drops a state that is kept if none is free; -1 if there is none to drop
  bool FreeSharedTail(PagedSequence& sequence);
  void IndexPage(PagedSequence& sequence, int64_t page, bool ends_here);
  void IndexTail(PagedSequence& sequence);
  void IndexTailWithState(PagedSequence& sequence, bool shared);
  PrefixIndex::Node* AddNode(PagedSequence& sequence, int64_t page);
  void KeepState(PagedSequence& sequence, PrefixIndex::Node& node);
  void DropState(PrefixIndex::Node& node);
  void DropPassedPages(PagedSequence& sequence);
  void Release(PagedSequence& sequence);

  uint64_t LayoutHash() const;
  // visit(page, layer, bytes) for each layer's part of one page of each group.
  template <typename Visitor>
  absl::Status VisitParts(std::span<const int32_t> pages, Visitor visit) const;
  int64_t SavedBytes(const PrefixIndex::Node& node) const;
  absl::Status SaveNode(const PrefixIndex::Node& node, PieceWriter& out) const;
  absl::StatusOr<SavedPrefixes> LoadPages(std::string_view identity, ByteSource& source,
                                          const std::function<bool()>& stop);
  absl::StatusOr<int64_t> LoadNode(PieceReader& in);
  absl::StatusOr<PrefixIndex::Node*> LoadValues(uint64_t parent, std::span<const int32_t> tokens,
                                                const std::vector<int32_t>& pages, bool has_state, PieceReader& in);

  PageMemory& memory_;
  CacheLayout layout_;
  CacheOptions options_;
  PoolSize size_;
  std::unique_ptr<PageStore> store_;
  PrefixIndex index_;
  int64_t slot_bytes_ = 0;
  uint64_t sequences_made_ = 0;
  std::vector<int32_t> free_slots_;
  CacheStats stats_;
};

}  // namespace inferd::cache
