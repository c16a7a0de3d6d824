// How much memory a model needs and how much the machine has, before anything is started.
//
//   MemoryPlan plan = PlanMemory(model, file, AvailableMemory());
//   if (!plan.fits) return ResourceExhausted("{}", plan.explanation);
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "daemon/file_identity.h"

namespace inferd::daemon {

struct MemoryPlan {
  // Those of a draft model are among them.
  uint64_t weights_bytes = 0;
  uint64_t kv_bytes = 0;
  uint64_t scratch_bytes = 0;
  uint64_t available_bytes = 0;
  // A running worker has the file mapped: the weights take no further memory.
  bool weights_shared = false;
  // All of the above that counts.
  uint64_t needed_bytes = 0;
  bool fits = false;
  std::string explanation;
};

MemoryPlan PlanMemory(const config::ModelOptions& model, const FileIdentity& files, uint64_t available_bytes,
                      bool weights_shared = false);

// Where the kernel tells of memory; tests put folders of their own there.
struct KernelFolders {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// Below the group that was ours, where we go if workers get groups beside us (control_groups.h).
inline constexpr char kSupervisorGroup[] = "/supervisor";

// The least of what the kernel says is available and what the limits of our control groups (version 2 or 1) leave.
uint64_t AvailableMemoryBy(const KernelFolders& folders);
inline uint64_t AvailableMemory() { return AvailableMemoryBy({}); }

// Processes of our control group and the workers' (of the machine, where there is none) that the kernel has killed for
// memory so far.
uint64_t OutOfMemoryKillsBy(const KernelFolders& folders);
inline uint64_t OutOfMemoryKills() { return OutOfMemoryKillsBy({}); }

}  // namespace inferd::daemon
