// Linux has a niceness for each thread. setpriority takes 0 for the calling one, and a process group for all threads of
// all its processes; ids of threads, which might be those of other processes, are not for the sandbox to allow.
#include "worker/quiet_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace inferd::worker {
namespace {

// A tenth of the weight of those who serve: a load that needs 0.2 s of an idle machine takes some 2 s of a busy one.
constexpr int kLower = 10;
constexpr int kLowest = 19;

int Niceness() { return getpriority(PRIO_PROCESS, 0); }

bool SetNiceness(int niceness) { return setpriority(PRIO_PROCESS, 0, niceness) == 0; }

// Tried on a thread that ends.
bool CanComeBack() {
  bool came_back = false;
  std::thread([&came_back] {
    const int now = Niceness();
    came_back = now < kLowest && SetNiceness(now + 1) && SetNiceness(now);
  }).join();
  return came_back;
}

}  // namespace

QuietLoad QuietLoad::Begin() {
  if (getpgrp() != getpid()) return QuietLoad(0);
  rlimit limit{};
  if (getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NICE, &limit);
  }
  if (!CanComeBack()) return QuietLoad(0);
  const int before = Niceness();
  const int lower = std::min(kLower, kLowest - before);
  return QuietLoad(SetNiceness(before + lower) ? lower : 0);
}

void QuietLoad::End() {
  if (lowered_by_ == 0) return;
  const int before = Niceness() - lowered_by_;
  lowered_by_ = 0;
  setpriority(PRIO_PGRP, 0, before);
}

}  // namespace inferd::worker
