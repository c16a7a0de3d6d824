// Pages whose layers lie on several devices: each has its own layers' part of every page, under the page's number.
//
//   SplitPageMemory memory({{&first, {0, 8}}, {&second, {8, 16}}});
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/device/device.h"

namespace inferd::device {

class SplitPageMemory final : public cache::PageMemory {
 public:
  struct Part {
    cache::PageMemory* memory;
    LayerRange layers;
  };
  explicit SplitPageMemory(std::vector<Part> parts) : parts_(std::move(parts)) {}

  absl::Status Create(const cache::CacheLayout& layout, const cache::PoolSize& size) override;
  void Allocate(int32_t page, int32_t group) override;
  void Free(int32_t page) override;
  void Copy(int32_t from, int32_t to) override;
  absl::Status Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) override;
  absl::Status Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) override;
  void ZeroState(int32_t slot) override;
  void CopyState(int32_t from, int32_t to) override;
  absl::Status ReadState(int32_t slot, std::span<uint8_t> bytes) override;
  absl::Status WriteState(int32_t slot, std::span<const uint8_t> bytes) override;

 private:
  cache::PageMemory& Of(int32_t layer) const;

  std::vector<Part> parts_;
  std::vector<size_t> slot_bytes_;  // [parts]
};

}  // namespace inferd::device
