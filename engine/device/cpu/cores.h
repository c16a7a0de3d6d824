// Which processors this process may use: its affinity, and the CPU quota of its control group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inferd::device {

std::vector<int> UsableCores();  // numbers of the processors in the affinity mask, at least one

// Processors' worth of time that a quota grants ("max 100000" or "150000 100000" in cpu.max), rounded up; 0: no limit.
int32_t CoresOfQuota(const std::string& cpu_max);

// Threads that make sense: as many as usable cores, but no more than the quota grants.
int32_t DefaultThreads();

}  // namespace inferd::device
