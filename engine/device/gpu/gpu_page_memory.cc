#include "engine/device/gpu/gpu_page_memory.h"

namespace inferd::device {

absl::Status WaitFor(kernels::gpu::GpuStream& stream) {
  const char* const error = stream.Wait();
  return error == nullptr ? absl::OkStatus() : Internal("{}: {}", stream.device_name(), error);
}

absl::Status GpuPageMemory::Create(const cache::CacheLayout& layout, const cache::PoolSize& size) {
  CHECK(cache::SlotBytes(layout) == 0);
  layout_ = layout;
  block_bytes_ = size.block_bytes;
  layer_in_group_.assign(layout.page_bytes.size(), -1);
  for (const cache::CacheLayout::Group& group : layout.groups) {
    for (size_t i = 0; i < group.layers.size(); ++i) layer_in_group_[group.layers[i]] = static_cast<int32_t>(i);
  }
  ASSIGN_OR_RETURN(memory_, DeviceMemory::Take(stream_, size.blocks * size.block_bytes));
  for (int64_t i = size.blocks - 1; i >= 0; --i) free_blocks_.push_back(static_cast<uint32_t>(i));
  return absl::OkStatus();
}

void GpuPageMemory::Allocate(int32_t page, int32_t group) {
  if (page >= static_cast<int32_t>(blocks_of_.size())) blocks_of_.resize(page + 1);
  const auto blocks = static_cast<int64_t>(layout_.groups[group].layers.size());
  CHECK(blocks <= static_cast<int64_t>(free_blocks_.size()) && blocks_of_[page].empty());
  blocks_of_[page].assign(free_blocks_.end() - blocks, free_blocks_.end());
  free_blocks_.resize(free_blocks_.size() - blocks);
}

void GpuPageMemory::Free(int32_t page) {
  free_blocks_.insert(free_blocks_.end(), blocks_of_[page].begin(), blocks_of_[page].end());
  blocks_of_[page].clear();
}

void GpuPageMemory::Copy(int32_t from, int32_t to) {
  for (size_t i = 0; i < blocks_of_[from].size(); ++i) {
    stream_.Copy(Block(blocks_of_[to][i]), Block(blocks_of_[from][i]), static_cast<size_t>(block_bytes_));
  }
}

absl::Status GpuPageMemory::Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) {
  stream_.Copy(bytes.data(), Page(page, layer), bytes.size());
  return WaitFor(stream_);
}

absl::Status GpuPageMemory::Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) {
  stream_.Copy(Page(page, layer), bytes.data(), bytes.size());
  return WaitFor(stream_);
}

absl::Status GpuPageMemory::ReadState(int32_t, std::span<uint8_t> bytes) {
  CHECK(bytes.empty());
  return absl::OkStatus();
}

absl::Status GpuPageMemory::WriteState(int32_t, std::span<const uint8_t> bytes) {
  CHECK(bytes.empty());
  return absl::OkStatus();
}

}  // namespace inferd::device
