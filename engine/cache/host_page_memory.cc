#include "engine/cache/host_page_memory.h"

#include <algorithm>
#include <cstring>

#include "config/base/status.h"

namespace inferd::cache {

absl::Status HostPageMemory::Create(const CacheLayout& layout, const PoolSize& size) {
  layout_ = layout;
  size_ = size;
  layer_in_group_.assign(layout.page_bytes.size(), -1);
  for (const CacheLayout::Group& group : layout.groups) {
    for (size_t i = 0; i < group.layers.size(); ++i) layer_in_group_[group.layers[i]] = static_cast<int32_t>(i);
  }
  for (int64_t bytes : layout.state_bytes) {
    state_offset_.push_back(slot_bytes_);
    slot_bytes_ += AlignPart(bytes);
  }
  ASSIGN_OR_RETURN(states_, Mapping::Create(size.slots * slot_bytes_));
  ASSIGN_OR_RETURN(pages_, Mapping::Create(size.blocks * size.block_bytes));
  free_blocks_.reserve(size.blocks);
  for (int64_t i = size.blocks - 1; i >= 0; --i) free_blocks_.push_back(static_cast<uint32_t>(i));
  return absl::OkStatus();
}

void HostPageMemory::Allocate(int32_t page, int32_t group) {
  if (page >= static_cast<int32_t>(blocks_of_.size())) blocks_of_.resize(page + 1);
  const auto blocks = static_cast<int64_t>(layout_.groups[group].layers.size());
  CHECK(blocks <= static_cast<int64_t>(free_blocks_.size()) && blocks_of_[page].empty());
  blocks_of_[page].assign(free_blocks_.end() - blocks, free_blocks_.end());
  free_blocks_.resize(free_blocks_.size() - blocks);
}

void HostPageMemory::Free(int32_t page) {
  free_blocks_.insert(free_blocks_.end(), blocks_of_[page].begin(), blocks_of_[page].end());
  blocks_of_[page].clear();
}

void HostPageMemory::Copy(int32_t from, int32_t to) {
  for (size_t i = 0; i < blocks_of_[from].size(); ++i) {
    std::memcpy(pages_.data() + blocks_of_[to][i] * size_.block_bytes,
                pages_.data() + blocks_of_[from][i] * size_.block_bytes, size_.block_bytes);
  }
}

absl::Status HostPageMemory::Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) {
  std::copy_n(Page(page, layer), bytes.size(), bytes.begin());
  return absl::OkStatus();
}

absl::Status HostPageMemory::Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), Page(page, layer));
  return absl::OkStatus();
}

void HostPageMemory::ZeroState(int32_t slot) { std::ranges::fill(Slot(slot), 0); }

void HostPageMemory::CopyState(int32_t from, int32_t to) { std::ranges::copy(Slot(from), Slot(to).begin()); }

absl::Status HostPageMemory::ReadState(int32_t slot, std::span<uint8_t> bytes) {
  std::ranges::copy(Slot(slot), bytes.begin());
  return absl::OkStatus();
}

absl::Status HostPageMemory::WriteState(int32_t slot, std::span<const uint8_t> bytes) {
  std::ranges::copy(bytes, Slot(slot).begin());
  return absl::OkStatus();
}

}  // namespace inferd::cache
