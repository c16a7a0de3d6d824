#include "kernels/gpu_emulator/device.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace inferd::kernels::gpu_emulator {
namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "gpu emulator: %s\n", what);
  std::abort();
}

}  // namespace

Device::~Device() {
  if (!allocations_.empty()) Fail("memory of the device was not freed");
}

void* Device::Allocate(size_t bytes) {
  if (bytes > memory_bytes_ - used_bytes_) return nullptr;
  const GuardedMemory memory = GuardedMemory::Map(bytes, EdgeOf(schedule_));
  if (memory.data() == nullptr) return nullptr;
  memory.FillUnwritten();
  if (open_ == 0) memory.Protect(PROT_NONE);
  used_bytes_ += bytes;
  allocations_.emplace(memory.data(), memory);
  return memory.data();
}

void Device::Free(void* memory) {
  if (memory == nullptr) return;
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) Fail("Free of memory that is not allocated");
  const GuardedMemory& allocation = found->second;
  allocation.Protect(PROT_READ);
  if (!allocation.Intact()) Fail("a kernel wrote beyond an allocation");
  allocation.Retire();
  used_bytes_ -= allocation.size();
  allocations_.erase(found);
}

const GuardedMemory* Device::Find(const void* address) const {
  const auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  const GuardedMemory& memory = std::prev(next)->second;
  return memory.Has(address) ? &memory : nullptr;
}

void Device::Open() {
  if (open_++ > 0) return;
  for (const auto& [address, memory] : allocations_) memory.Protect(PROT_READ | PROT_WRITE);
}

void Device::Close() {
  if (--open_ > 0) return;
  for (const auto& [address, memory] : allocations_) memory.Protect(PROT_NONE);
}

}  // namespace inferd::kernels::gpu_emulator
