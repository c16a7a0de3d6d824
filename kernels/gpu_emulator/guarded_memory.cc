#include "kernels/gpu_emulator/guarded_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace inferd::kernels::gpu_emulator {
namespace {

constexpr size_t kPageBytes = 4096, kAlignment = 16;

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

bool AllUnwritten(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte byte) { return byte == std::byte{kUnwritten}; });
}

}  // namespace

GuardedMemory GuardedMemory::Map(size_t bytes, Edge edge) {
  const size_t aligned = RoundUp(std::max(bytes, kAlignment), kAlignment), inside = RoundUp(aligned, kPageBytes);
  GuardedMemory memory;
  memory.mapping_bytes_ = inside + 2 * kPageBytes;
  void* const mapping =
      mmap(nullptr, memory.mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return memory;
  memory.mapping_ = static_cast<std::byte*>(mapping);
  memory.size_ = bytes;
  memory.data_ = memory.inside() + (edge == Edge::kEnd ? inside - aligned : 0);
  memory.Protect(PROT_READ | PROT_WRITE);
  return memory;
}

std::byte* GuardedMemory::inside() const { return mapping_ + kPageBytes; }
size_t GuardedMemory::inside_bytes() const { return mapping_bytes_ - 2 * kPageBytes; }

void GuardedMemory::FillUnwritten() const { std::memset(inside(), kUnwritten, inside_bytes()); }

bool GuardedMemory::Intact() const {
  return AllUnwritten(inside(), data_) && AllUnwritten(data_ + size_, inside() + inside_bytes());
}

void GuardedMemory::Protect(int protection) const {
  if (mprotect(inside(), inside_bytes(), protection) != 0) std::abort();
}

void GuardedMemory::Retire() const {
  Protect(PROT_NONE);
  madvise(mapping_, mapping_bytes_, MADV_DONTNEED);
}

void GuardedMemory::Unmap() const { munmap(mapping_, mapping_bytes_); }

}  // namespace inferd::kernels::gpu_emulator
