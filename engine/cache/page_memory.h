// What stands behind the numbers of pages and of slots for recurrent state: memory of the device that computes with it.
// The cache decides which page is whose; where a page lies, and how its bytes move, is the device's business.
//
//   RETURN_IF_ERROR(memory.Create(layout, {.blocks = 4096, .block_bytes = 32768, .slots = 0}));
//   memory.Allocate(/*page=*/7, /*group=*/0);
//   memory.Copy(7, 9);                                  // both allocated, of one group
//   RETURN_IF_ERROR(memory.Read(7, /*layer=*/3, bytes));
//   memory.Free(7);
//
// A block holds 64 tokens of one layer; a page of a group takes one block for each of the group's layers. Copies and
// zeros are done in the order of the calls, before any later pass; only Read and Write wait.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace inferd::cache {

// What a model needs, derived from its specification.
struct CacheLayout {
  struct Group {
    int64_t window = 0;  // tokens that a query sees, itself among them; 0: all
    std::vector<int32_t> layers;
  };
  std::vector<Group> groups;
  std::vector<int64_t> page_bytes;   // [layers] of one page of one layer; 0 without K and V
  std::vector<int64_t> state_bytes;  // [layers] of recurrent state of one sequence; 0 without
};

// Parts of pages and of states begin at multiples of this.
constexpr int64_t AlignPart(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// All layers' states of one sequence side by side.
inline int64_t SlotBytes(const CacheLayout& layout) {
  int64_t bytes = 0;
  for (int64_t layer : layout.state_bytes) bytes += AlignPart(layer);
  return bytes;
}

struct PoolSize {
  int64_t blocks = 0;       // that all pages together take at most
  int64_t block_bytes = 0;  // a multiple of 64, as large as any layer's page
  int64_t slots = 0;        // of recurrent state
};

class PageMemory {
 public:
  virtual ~PageMemory() = default;

  // Once, before all else. RESOURCE_EXHAUSTED.
  virtual absl::Status Create(const CacheLayout& layout, const PoolSize& size) = 0;

  // A page that nobody holds gets memory, with any content; its group's blocks are free.
  virtual void Allocate(int32_t page, int32_t group) = 0;
  virtual void Free(int32_t page) = 0;
  virtual void Copy(int32_t from, int32_t to) = 0;
  // One layer's part: layout.page_bytes[layer] bytes.
  virtual absl::Status Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) = 0;
  virtual absl::Status Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) = 0;

  virtual void ZeroState(int32_t slot) = 0;
  virtual void CopyState(int32_t from, int32_t to) = 0;
  // All layers' states, in ascending order: SlotBytes(layout) bytes.
  virtual absl::Status ReadState(int32_t slot, std::span<uint8_t> bytes) = 0;
  virtual absl::Status WriteState(int32_t slot, std::span<const uint8_t> bytes) = 0;
};

}  // namespace inferd::cache
