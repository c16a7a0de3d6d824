// How much memory a model needs and how much the machine has, before anything is started.
//
//   MemoryPlan plan = PlanMemory(model, weights_bytes, AvailableMemory());
//   if (!plan.fits) return ResourceExhausted("{}", plan.explanation);
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"

namespace inferd::daemon {

struct MemoryPlan {
  uint64_t weights_bytes = 0;
  uint64_t kv_bytes = 0;
  uint64_t scratch_bytes = 0;
  uint64_t available_bytes = 0;
  // A running worker has the file mapped: the weights take no further memory.
  bool weights_shared = false;
  bool fits = false;
  std::string explanation;
};

// `weights_bytes`: the size of the file, all parts together.
MemoryPlan PlanMemory(const config::ModelOptions& model, uint64_t weights_bytes, uint64_t available_bytes,
                      bool weights_shared = false);

// The least of what the kernel says is available and what the limits of our control groups leave.
uint64_t AvailableMemory();

// Processes of our control group (of the machine, where there is none) that the kernel has killed for memory so far.
uint64_t OutOfMemoryKills();

}  // namespace inferd::daemon
