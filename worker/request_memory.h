// A bound for what reading one request may take of memory, so that a request which wants more ends alone and not with
// its worker. Allocations are counted as they are made (by operator new, of this thread), and the one that would pass
// the bound is not made. Exceptions stay in this seam with the standard library: operator new knows no other failure.
//
//   const RequestMemory memory(options.memory_limit, threads);
//   ASSIGN_OR_RETURN(auto request, memory.Within([&] { return PrepareRequest(model, wire, times); }));
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "worker/own_memory.h"

namespace inferd::worker {

// Counts what this thread allocates and frees while it lives. Not nested.
class MemoryScope {
 public:
  explicit MemoryScope(uint64_t most_bytes);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;

  // Whether an allocation that fails in this thread is thrown instead of ending the process.
  static bool IsActive();
};

// INVALID_ARGUMENT.
absl::Status TooMuchMemory(uint64_t most_bytes);

// What `work` returns, an absl::Status or StatusOr; it keeps no lock and changes nothing that outlives it unless it
// succeeds.
template <typename Work>
std::invoke_result_t<Work> WithinMemory(uint64_t most_bytes, Work&& work) {
  try {
    const MemoryScope scope(most_bytes);
    return work();
  } catch (const std::bad_alloc&) {
    return TooMuchMemory(most_bytes);
  }
}

class RequestMemory {
 public:
  // For `threads` that read requests at the same time. Opens a file; later calls open none.
  RequestMemory(uint64_t memory_limit, uint32_t threads);

  // For each of them: an equal part of what the process may still have of its limit (0: of the machine's memory), one
  // part being left for the rest.
  uint64_t most_bytes() const;

  template <typename Work>
  std::invoke_result_t<Work> Within(Work&& work) const {
    return WithinMemory(most_bytes(), std::forward<Work>(work));
  }

 private:
  const uint64_t limit_bytes_;
  const uint32_t parts_;
  const OwnMemory own_;
};

}  // namespace inferd::worker
