// Who holds which page: reference-counted numbers of pages, whose memory is elsewhere (page_memory.h). A block holds 64
// tokens of one layer; a page of a group takes one block for each of the group's layers.
//
//   PageStore store(memory, /*layers_of_group=*/{30}, /*blocks=*/32768);
//   int32_t page = store.Allocate(/*group=*/0);      // one reference
//   store.Unreference(page);                         // gives the blocks back
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/cache/page_memory.h"

namespace inferd::cache {

class PageStore {
 public:
  // layers_of_group[g] blocks make a page of group g.
  PageStore(PageMemory& memory, std::vector<int32_t> layers_of_group, int64_t blocks)
      : memory_(memory), layers_of_group_(std::move(layers_of_group)), total_blocks_(blocks), free_blocks_(blocks) {}

  int64_t BlocksOf(int32_t group) const { return layers_of_group_[group]; }
  int64_t total_blocks() const { return total_blocks_; }
  int64_t free_blocks() const { return free_blocks_; }
  int64_t cached_blocks() const { return cached_blocks_; }  // of pages that the prefix index alone holds

  int32_t Allocate(int32_t group);  // BlocksOf(group) blocks must be free
  void Reference(int32_t page);
  void Unreference(int32_t page);
  int32_t references(int32_t page) const { return pages_[page].references; }
  int32_t users(int32_t page) const { return pages_[page].references - (pages_[page].indexed ? 1 : 0); }
  size_t most_pages() const { return pages_.size(); }  // all are numbered below
  // The prefix index holds one of the references from now on, or no longer.
  void SetIndexed(int32_t page, bool indexed);

 private:
  struct Page {
    int32_t group = -1, references = 0;
    bool indexed = false;
  };
  bool OnlyCached(const Page& page) const { return page.indexed && page.references == 1; }

  PageMemory& memory_;
  std::vector<int32_t> layers_of_group_;
  int64_t total_blocks_, free_blocks_, cached_blocks_ = 0;
  std::vector<Page> pages_;
  std::vector<int32_t> free_pages_;  // a stack, so that numbers stay small
};

}  // namespace inferd::cache
