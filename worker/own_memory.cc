#include "worker/own_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace inferd::worker {

OwnMemory::OwnMemory() : statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

// In pages: size, resident, of these from files, text, 0, data.
std::optional<MemoryUse> OwnMemory::Read() const {
  char text[128] = {};
  if (pread(statm_.get(), text, sizeof(text) - 1, 0) <= 0) return std::nullopt;
  MemoryUse use;
  if (std::sscanf(text, "%*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64, &use.resident_bytes, &use.file_bytes,
                  &use.data_bytes) != 3) {
    return std::nullopt;
  }
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (uint64_t* pages : {&use.resident_bytes, &use.file_bytes, &use.data_bytes}) *pages *= page_bytes;
  return use;
}

}  // namespace inferd::worker
