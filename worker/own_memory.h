// What the kernel says of this process's memory.
//
//   const OwnMemory memory;                       // opens a file; reading opens none
//   if (const auto use = memory.Read()) response.set_resident_bytes(use->resident_bytes);
#pragma once

#include <cstdint>
#include <optional>

#include "config/base/unique_fd.h"

namespace inferd::worker {

struct MemoryUse {
  uint64_t resident_bytes = 0;
  uint64_t file_bytes = 0;  // those of them that are mapped from files
  uint64_t data_bytes = 0;  // what RLIMIT_DATA counts: private and writable, stacks of threads among it
};

class OwnMemory {
 public:
  OwnMemory();
  // nullopt: it cannot be read.
  std::optional<MemoryUse> Read() const;

 private:
  const UniqueFd statm_;
};

}  // namespace inferd::worker
