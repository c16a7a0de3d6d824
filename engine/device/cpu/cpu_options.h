// What only the CPU device is told.
//
//   ASSIGN_OR_RETURN(auto device, CreateDevice(model, {}, {.cpu = {.threads = 2, .isa = "avx2"}}));
#pragma once

#include <cstdint>
#include <string>

namespace inferd::device {

struct CpuOptions {
  int32_t threads = 0;  // 0: DefaultThreads()
  bool blas = false;    // many tokens' products with float weights by OpenBLAS, whose bits depend on the batch
  std::string isa;      // name of a kernel variant; empty: the best that this CPU runs
};

// As many threads as cores that this process may use (affinity), but no more than its control group's quota grants.
int32_t DefaultThreads();

}  // namespace inferd::device
