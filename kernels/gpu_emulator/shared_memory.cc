#include "kernels/gpu_emulator/shared_memory.h"

#include <algorithm>
#include <cstdlib>

namespace inferd::kernels::gpu_emulator {

SharedMemory::~SharedMemory() {
  for (const auto& [declaration, memory] : arrays_) memory.Unmap();
}

void SharedMemory::Begin(Edge edge) {
  edge_ = edge;
  used_.clear();
}

void* SharedMemory::Array(const void* declaration, size_t bytes) {
  size_t total = bytes;
  for (const auto& [used, memory] : used_) {
    if (used == declaration) return memory.data();
    total += memory.size();
  }
  if (total > kMostSharedBytes) return nullptr;
  GuardedMemory& memory = arrays_[{declaration, edge_}];
  if (memory.data() == nullptr) memory = GuardedMemory::Map(bytes, edge_);
  if (memory.data() == nullptr) std::abort();
  memory.FillUnwritten();
  used_.emplace_back(declaration, memory);
  return memory.data();
}

bool SharedMemory::Intact() const {
  return std::all_of(used_.begin(), used_.end(), [](const auto& array) { return array.second.Intact(); });
}

}  // namespace inferd::kernels::gpu_emulator
