// Numbers come from /proc/meminfo and from cgroup v2 files (Documentation/admin-guide/cgroup-v2.rst of the kernel).
#include "daemon/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "config/base/status.h"
#include "config/units.h"

namespace inferd::daemon {
namespace {

// Activations, logits, vocabulary and the process itself (the design's bound on what is resident beyond file and pool).
constexpr uint64_t kScratchBytes = uint64_t{96} << 20;
constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

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

// Path of our control group below the root, "" if there is no unified hierarchy.
std::string CgroupPath() {
  std::ifstream stream("/proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "";
}

// What the limits of our group and of those above it leave.
uint64_t CgroupAvailable() {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  for (std::string path = CgroupPath(); !path.empty();) {
    const std::string folder = kCgroupRoot + path;
    const auto limit = NumberFile(folder + "/memory.max");
    const auto used = NumberFile(folder + "/memory.current");
    // Cached file pages count as used but give way.
    const uint64_t cached = NumberInFile(folder + "/memory.stat", "file").value_or(0);
    if (limit && used) available = std::min(available, *limit - std::min(*limit, *used - std::min(*used, cached)));
    if (path == "/") break;
    path = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  }
  return available;
}

}  // namespace

MemoryPlan PlanMemory(const config::ModelOptions& model, uint64_t weights_bytes, uint64_t available_bytes,
                      bool weights_shared) {
  MemoryPlan plan{.weights_bytes = weights_bytes,
                  .kv_bytes = model.kv_cache.bytes,
                  .scratch_bytes = kScratchBytes,
                  .available_bytes = available_bytes,
                  .weights_shared = weights_shared};
  const uint64_t needed = (weights_shared ? 0 : plan.weights_bytes) + plan.kv_bytes + plan.scratch_bytes;
  plan.fits = needed <= available_bytes;
  const auto mib = [](uint64_t bytes) { return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20); };
  plan.explanation = fmt::format("{}: weights {}{} + KV pool {} + scratch {} = {}, available {}", model.name,
                                 mib(plan.weights_bytes), weights_shared ? " (mapped already, not counted)" : "",
                                 mib(plan.kv_bytes), mib(plan.scratch_bytes), mib(needed), mib(available_bytes));
  return plan;
}

uint64_t AvailableMemory() {
  const uint64_t machine = NumberInFile("/proc/meminfo", "MemAvailable:").value_or(0) << 10;
  return std::min(machine, CgroupAvailable());
}

uint64_t OutOfMemoryKills() {
  const auto own = NumberInFile(kCgroupRoot + CgroupPath() + "/memory.events", "oom_kill");
  // Without a unified hierarchy: those of the whole machine.
  return own ? *own : NumberInFile("/proc/vmstat", "oom_kill").value_or(0);
}

}  // namespace inferd::daemon
