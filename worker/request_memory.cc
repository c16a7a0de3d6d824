// Replaces operator new and delete of the program; other forms of them call these. Outside of a scope they do what the
// standard library's do. Exceptions are how operator new fails: those of the standard library.
#include "worker/request_memory.h"

#include <malloc.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>

#include "config/base/status.h"

namespace inferd::worker {
namespace {

struct Account {
  bool active = false;
  int64_t left_bytes = 0;
};
Account& ThisThread() {
  static thread_local constinit Account account;
  return account;
}

uint64_t WholeMachine() {
  struct sysinfo machine {};
  return sysinfo(&machine) == 0 ? uint64_t{machine.totalram} * machine.mem_unit : 0;
}

void* Allocate(size_t size, size_t alignment) {
  Account& account = ThisThread();
  if (account.active && static_cast<int64_t>(std::min(size, size_t{1} << 62)) > account.left_bytes) {
    throw std::bad_alloc();
  }
  size = std::max<size_t>(size, 1);
  while (true) {
    void* memory = nullptr;
    if (alignment == 0) {
      memory = std::malloc(size);
    } else if (posix_memalign(&memory, alignment, size) != 0) {
      memory = nullptr;
    }
    if (memory != nullptr) {
      if (account.active) account.left_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
      return memory;
    }
    const std::new_handler handler = std::get_new_handler();
    if (account.active || handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void Free(void* memory) {
  Account& account = ThisThread();
  if (account.active) account.left_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

RequestMemory::RequestMemory(uint64_t memory_limit, uint32_t threads)
    : limit_bytes_(memory_limit == 0 ? WholeMachine() : memory_limit), parts_(threads + 1) {}

uint64_t RequestMemory::most_bytes() const {
  const uint64_t used = own_.Read().value_or(MemoryUse()).data_bytes;
  return (limit_bytes_ > used ? limit_bytes_ - used : 0) / parts_;
}

MemoryScope::MemoryScope(uint64_t most_bytes) {
  ThisThread() = {.active = true, .left_bytes = static_cast<int64_t>(std::min(most_bytes, uint64_t{1} << 62))};
}
MemoryScope::~MemoryScope() { ThisThread().active = false; }
bool MemoryScope::IsActive() { return ThisThread().active; }

absl::Status TooMuchMemory(uint64_t most_bytes) {
  return InvalidArgument("reading the request takes more than the {} MiB of memory that one request may have here",
                         most_bytes >> 20);
}

}  // namespace inferd::worker

void* operator new(size_t size) { return inferd::worker::Allocate(size, 0); }
void* operator new(size_t size, std::align_val_t alignment) {
  return inferd::worker::Allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { inferd::worker::Free(memory); }
void operator delete(void* memory, size_t) noexcept { inferd::worker::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { inferd::worker::Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { inferd::worker::Free(memory); }
