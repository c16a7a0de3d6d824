#include "engine/device/cpu/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/device/cpu/cpu_options.h"

namespace inferd::device {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Of one control group's folder: version 2 has one file, version 1 two.
int32_t QuotaOfGroup(const std::string& folder) {
  const int32_t cores = CoresOfQuota(FirstLine(folder + "/cpu.max"));
  if (cores > 0) return cores;
  return CoresOfQuota(FirstLine(folder + "/cpu.cfs_quota_us") + " " + FirstLine(folder + "/cpu.cfs_period_us"));
}

}  // namespace

int32_t StrictestQuota(std::istream& groups, const std::string& mounted) {
  int32_t strictest = 0;
  for (std::string line; std::getline(groups, line);) {
    const size_t controllers = line.find(':'), path = line.find(':', controllers + 1);
    if (path == std::string::npos) continue;
    const std::string names = "," + line.substr(controllers + 1, path - controllers - 1) + ",";
    std::string root = mounted;
    if (!line.starts_with("0::")) {
      if (names.find(",cpu,") == std::string::npos) continue;
      root += "/cpu";
    }
    for (std::string group = line.substr(path + 1);; group.resize(group.find_last_of('/'))) {
      const int32_t cores = QuotaOfGroup(root + group);
      if (cores > 0) strictest = strictest == 0 ? cores : std::min(strictest, cores);
      if (group.find_last_of('/') == std::string::npos) break;
    }
  }
  return strictest;
}

std::vector<int> UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cores.push_back(i);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

int32_t CoresOfQuota(const std::string& cpu_max) {
  std::istringstream in(cpu_max);
  double quota = 0, period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return 0;
  return std::max(1, static_cast<int32_t>((quota + period - 1) / period));
}

int32_t DefaultThreads() {
  const auto cores = static_cast<int32_t>(UsableCores().size());
  std::ifstream groups("/proc/self/cgroup");
  const int32_t quota = StrictestQuota(groups, "/sys/fs/cgroup");
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace inferd::device
