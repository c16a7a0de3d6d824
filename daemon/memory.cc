// Numbers come from /proc/meminfo and from control groups (the kernel's Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/memory.rst).
#include "daemon/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "config/base/status.h"
#include "config/units.h"
#include "daemon/own_group.h"

namespace inferd::daemon {
namespace {

// Activations, logits, vocabulary and the process itself (the design's bound on what is resident beyond file and pool).
constexpr uint64_t kScratchBytes = uint64_t{96} << 20;

// The number after `key` in a file of "key number" lines; nullopt if file or key is not there.
std::optional<uint64_t> NumberInFile(const std::string& file, std::string_view key) {
  std::ifstream stream(file);
  std::string word;
  uint64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    if (words >> word >> number && word == key) return number;
  }
  return std::nullopt;
}

// A file that has one number; nullopt also for "max".
std::optional<uint64_t> NumberFile(const std::string& file) {
  std::ifstream stream(file);
  uint64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

// Where our control group stands, and how its version of the interface names things.
struct Hierarchy {
  std::string root;
  std::string path;  // below the root; "" if there is no such group
  const char* limit;
  const char* used;
  const char* cached;  // in memory.stat: pages that count as used but give way
  const char* events;  // the file with the count of killed processes
};

// The unified hierarchy where it controls memory, else the memory controller's own of version 1.
Hierarchy FindHierarchy(const KernelFolders& folders) {
  const OwnGroup group = FindOwnGroup(folders.proc);
  if (!group.memory) {
    return {.root = folders.cgroup,
            .path = group.unified.value_or(""),
            .limit = "memory.max",
            .used = "memory.current",
            .cached = "file",
            .events = "memory.events"};
  }
  return {.root = folders.cgroup + "/memory",
          .path = *group.memory,
          .limit = "memory.limit_in_bytes",
          .used = "memory.usage_in_bytes",
          .cached = "total_cache",
          .events = "memory.oom_control"};
}

// What the limits of our group and of those above it leave. A path that is not there (a container shows its own group
// as the root) has none.
uint64_t CgroupAvailable(const Hierarchy& hierarchy) {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  for (std::string path = hierarchy.path; !path.empty();) {
    const std::string folder = hierarchy.root + path + "/";
    const auto limit = NumberFile(folder + hierarchy.limit);
    const auto used = NumberFile(folder + hierarchy.used);
    const uint64_t cached = NumberInFile(folder + "memory.stat", hierarchy.cached).value_or(0);
    if (limit && used) available = std::min(available, *limit - std::min(*limit, *used - std::min(*used, cached)));
    if (path == "/") break;
    path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  }
  return available;
}

}  // namespace

MemoryPlan PlanMemory(const config::ModelOptions& model, const FileIdentity& files, uint64_t available_bytes,
                      bool weights_shared) {
  const bool drafts = model.speculation.kind == config::SpeculationKind::kDraft;
  MemoryPlan plan{.weights_bytes = files.all_bytes(),
                  .kv_bytes = model.kv_cache.bytes + (drafts ? model.kv_cache.bytes / config::kDraftPoolDivisor : 0),
                  .scratch_bytes = drafts ? 2 * kScratchBytes : kScratchBytes,
                  .available_bytes = available_bytes,
                  .weights_shared = weights_shared};
  plan.needed_bytes = (weights_shared ? 0 : plan.weights_bytes) + plan.kv_bytes + plan.scratch_bytes;
  plan.fits = plan.needed_bytes <= available_bytes;
  const auto mib = [](uint64_t bytes) { return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20); };
  plan.explanation = fmt::format(
      "{}: weights {}{} + KV pool {} + scratch {}{} = {}, available {}", model.name, mib(plan.weights_bytes),
      weights_shared ? " (mapped already, not counted)" : "", mib(plan.kv_bytes), mib(plan.scratch_bytes),
      drafts ? ", the draft model's included" : "", mib(plan.needed_bytes), mib(available_bytes));
  return plan;
}

uint64_t AvailableMemoryBy(const KernelFolders& folders) {
  const uint64_t machine = NumberInFile(folders.proc + "/meminfo", "MemAvailable:").value_or(0) << 10;
  return std::min(machine, CgroupAvailable(FindHierarchy(folders)));
}

uint64_t OutOfMemoryKillsBy(const KernelFolders& folders) {
  Hierarchy hierarchy = FindHierarchy(folders);
  // A group counts those below it.
  if (hierarchy.path.ends_with(kSupervisorGroup)) {
    hierarchy.path.resize(hierarchy.path.size() - std::string_view(kSupervisorGroup).size());
  }
  const auto own = NumberInFile(hierarchy.root + hierarchy.path + "/" + hierarchy.events, "oom_kill");
  return own ? *own : NumberInFile(folders.proc + "/vmstat", "oom_kill").value_or(0);
}

}  // namespace inferd::daemon
