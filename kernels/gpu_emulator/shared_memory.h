// The shared arrays of the block that is running: each lies in guarded memory of its own.
//
//   shared.Begin(Edge::kEnd);                                        // a block begins: none is written
//   void* array = shared.Array(declaration, bytes);                  // the same for all of its threads
//   if (!shared.Intact()) Fail("wrote beyond a shared array");       // when it ends
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "kernels/gpu_emulator/guarded_memory.h"

namespace inferd::kernels::gpu_emulator {

// Of a block, on every device.
constexpr size_t kMostSharedBytes = 48 << 10;

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  void Begin(Edge edge);
  // Filled with NaN when the block first asks. nullptr: the block's arrays are larger than kMostSharedBytes.
  void* Array(const void* declaration, size_t bytes);
  bool Intact() const;

 private:
  Edge edge_ = Edge::kEnd;
  // Arrays stay where they are from block to block, as mapping them takes long.
  std::map<std::pair<const void*, Edge>, GuardedMemory> arrays_;
  std::vector<std::pair<const void*, GuardedMemory>> used_;  // by the block
};

}  // namespace inferd::kernels::gpu_emulator
