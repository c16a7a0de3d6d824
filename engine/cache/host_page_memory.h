// Page memory in the RAM of this machine, of the CPU device and of tests: one mapping cut into equal blocks.
//
//   HostPageMemory memory;
//   ASSIGN_OR_RETURN(std::unique_ptr<KvCache> cache, KvCache::Create(layout, options, memory));
//   uint8_t* k_and_v = memory.Page(sequence->pages(group)[0], layer);
//
// Memory is touched only when a page is written, 2 MiB at a time, so a large pool costs nothing until it is used.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cache/mapping.h"
#include "engine/cache/page_memory.h"

namespace inferd::cache {

class HostPageMemory final : public PageMemory {
 public:
  absl::Status Create(const CacheLayout& layout, const PoolSize& size) override;
  void Allocate(int32_t page, int32_t group) override;
  void Free(int32_t page) override;
  void Copy(int32_t from, int32_t to) override;
  absl::Status Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) override;
  absl::Status Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) override;
  void ZeroState(int32_t slot) override;
  void CopyState(int32_t from, int32_t to) override;
  absl::Status ReadState(int32_t slot, std::span<uint8_t> bytes) override;
  absl::Status WriteState(int32_t slot, std::span<const uint8_t> bytes) override;

  // Until the page is freed.
  uint8_t* Page(int32_t page, int32_t layer) const {
    return pages_.data() + static_cast<int64_t>(blocks_of_[page][layer_in_group_[layer]]) * size_.block_bytes;
  }
  // nullptr for a layer without state.
  uint8_t* State(int32_t slot, int32_t layer) const {
    if (layout_.state_bytes[layer] == 0) return nullptr;
    return states_.data() + slot * slot_bytes_ + state_offset_[layer];
  }

 private:
  std::span<uint8_t> Slot(int32_t slot) const {
    return {states_.data() + slot * slot_bytes_, static_cast<size_t>(slot_bytes_)};
  }

  CacheLayout layout_;
  PoolSize size_;
  Mapping pages_, states_;
  int64_t slot_bytes_ = 0;
  std::vector<int32_t> layer_in_group_;           // [layers]
  std::vector<int64_t> state_offset_;             // [layers] within a slot
  std::vector<uint32_t> free_blocks_;             // a stack: recently used (and thus resident) memory comes first
  std::vector<std::vector<uint32_t>> blocks_of_;  // [pages][layers of the page's group]
};

}  // namespace inferd::cache
