// The memory of all pages: one mapping cut into equal blocks, and reference-counted pages made of them. A block holds
// 64 tokens of one layer; a page of a group takes one block for each of the group's layers.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<PageStore> store, PageStore::Create({30}, 16384, 1 << 30));
//   int32_t page = store->Allocate(/*group=*/0);     // one reference
//   void* k_and_v = store->Block(page, /*layer_in_group=*/3);
//   store->Unreference(page);                        // gives the blocks back
//
// Memory is touched only when a page is written, 2 MiB at a time, so a large pool costs nothing until it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::cache {

// Zeroed memory from the system, page-aligned.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Create(int64_t bytes);  // RESOURCE_EXHAUSTED
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

class PageStore {
 public:
  // layers_of_group[g] blocks make a page of group g; as many blocks as fit into total_bytes.
  static absl::StatusOr<std::unique_ptr<PageStore>> Create(std::vector<int32_t> layers_of_group, int64_t block_bytes,
                                                           int64_t total_bytes);

  int64_t BlocksOf(int32_t group) const { return layers_of_group_[group]; }
  int64_t block_bytes() const { return block_bytes_; }
  int64_t total_blocks() const { return total_blocks_; }
  int64_t free_blocks() const { return static_cast<int64_t>(free_blocks_.size()); }
  int64_t cached_blocks() const { return cached_blocks_; }  // of pages that the prefix index alone holds

  int32_t Allocate(int32_t group);  // BlocksOf(group) blocks must be free
  void Reference(int32_t page);
  void Unreference(int32_t page);
  int32_t references(int32_t page) const { return pages_[page].references; }
  int32_t users(int32_t page) const { return pages_[page].references - (pages_[page].indexed ? 1 : 0); }
  size_t most_pages() const { return pages_.size(); }  // all are numbered below
  // The prefix index holds one of the references from now on, or no longer.
  void SetIndexed(int32_t page, bool indexed);
  void* Block(int32_t page, int32_t layer_in_group) const;
  void CopyPage(int32_t from, int32_t to) const;  // of one group

 private:
  struct Page {
    int32_t group = -1, references = 0;
    bool indexed = false;
    std::vector<uint32_t> blocks;
  };
  PageStore() = default;
  bool OnlyCached(const Page& page) const { return page.indexed && page.references == 1; }

  Mapping memory_;
  std::vector<int32_t> layers_of_group_;
  int64_t block_bytes_ = 0, total_blocks_ = 0, cached_blocks_ = 0;
  std::vector<uint32_t> free_blocks_;
  std::vector<Page> pages_;
  std::vector<int32_t> free_pages_;
};

}  // namespace inferd::cache
