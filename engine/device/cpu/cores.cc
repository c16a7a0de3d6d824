#include "engine/device/cpu/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace inferd::device {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The strictest quota on the way from our control group to the root (version 2, or version 1 in its two files).
int32_t QuotaCores() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  int32_t strictest = 0;
  const auto take = [&](int32_t cores) {
    if (cores > 0) strictest = strictest == 0 ? cores : std::min(strictest, cores);
  };
  while (std::getline(groups, line)) {
    const size_t controllers = line.find(':');
    const size_t path = line.find(':', controllers + 1);
    if (path == std::string::npos || !line.starts_with("0::")) continue;
    for (std::string group = line.substr(path + 1);; group.resize(group.find_last_of('/'))) {
      take(CoresOfQuota(FirstLine("/sys/fs/cgroup" + group + "/cpu.max")));
      if (group.find_last_of('/') == std::string::npos) break;
    }
  }
  const std::string quota = FirstLine("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  if (!quota.empty() && quota != "-1")
    take(CoresOfQuota(quota + " " + FirstLine("/sys/fs/cgroup/cpu/cpu.cfs_period_us")));
  return strictest;
}

}  // namespace

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
  const int32_t quota = QuotaCores();
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace inferd::device
