// Page memory of a GPU: one allocation cut into equal blocks.
//
//   GpuPageMemory memory(stream);
//   ASSIGN_OR_RETURN(std::unique_ptr<KvCache> cache, KvCache::Create(layout, options, memory));
//   uint8_t* k_and_v = memory.Page(sequence->pages(group)[0], layer);   // an address of the device
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cache/page_memory.h"
#include "engine/device/gpu/device_memory.h"

namespace inferd::device {

// Without recurrent state, which no layer of a GPU has yet.
class GpuPageMemory final : public cache::PageMemory {
 public:
  explicit GpuPageMemory(kernels::gpu::GpuStream& stream) : stream_(stream) {}

  absl::Status Create(const cache::CacheLayout& layout, const cache::PoolSize& size) override;
  void Allocate(int32_t page, int32_t group) override;
  void Free(int32_t page) override;
  void Copy(int32_t from, int32_t to) override;
  absl::Status Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) override;
  absl::Status Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) override;
  void ZeroState(int32_t) override {}
  void CopyState(int32_t, int32_t) override {}
  absl::Status ReadState(int32_t, std::span<uint8_t> bytes) override;
  absl::Status WriteState(int32_t, std::span<const uint8_t> bytes) override;

  uint8_t* Page(int32_t page, int32_t layer) const { return Block(blocks_of_[page][layer_in_group_[layer]]); }

 private:
  uint8_t* Block(uint32_t block) const { return memory_.As<uint8_t>() + static_cast<int64_t>(block) * block_bytes_; }

  kernels::gpu::GpuStream& stream_;
  cache::CacheLayout layout_;
  int64_t block_bytes_ = 0;
  DeviceMemory memory_;
  std::vector<int32_t> layer_in_group_;           // [layers]
  std::vector<uint32_t> free_blocks_;             // a stack
  std::vector<std::vector<uint32_t>> blocks_of_;  // [pages][layers of the page's group]
};

// INTERNAL with what the device says.
absl::Status WaitFor(kernels::gpu::GpuStream& stream);

}  // namespace inferd::device
