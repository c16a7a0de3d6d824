// Which processors this process may use: its affinity, and the CPU quota of its control group.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace inferd::device {

std::vector<int> UsableCores();  // numbers of the processors in the affinity mask, at least one

// Processors' worth of time that a quota grants ("max 100000" or "150000 100000" in cpu.max), rounded up; 0: no limit.
int32_t CoresOfQuota(const std::string& cpu_max);

// The strictest quota from a process's control groups, as /proc/PID/cgroup lists them (of version 2, or the `cpu` one
// of version 1), to their roots below the folder where they are mounted; 0: none.
int32_t StrictestQuota(std::istream& groups, const std::string& mounted);

}  // namespace inferd::device
