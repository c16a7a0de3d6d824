// Linux has a niceness for each thread, which setpriority takes by the thread's id (0: the calling one).
#include "worker/quiet_load.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <thread>

namespace inferd::worker {
namespace {

// A tenth of the weight of those who serve: a load that needs 0.2 s of an idle machine takes some 2 s of a busy one.
constexpr int kLower = 10;
constexpr int kLowest = 19;

int Niceness() { return getpriority(PRIO_PROCESS, 0); }

bool SetNiceness(id_t thread, int niceness) { return setpriority(PRIO_PROCESS, thread, niceness) == 0; }

// Tried on a thread that ends.
bool CanComeBack() {
  bool came_back = false;
  std::thread([&came_back] {
    const int now = Niceness();
    came_back = now < kLowest && SetNiceness(0, now + 1) && SetNiceness(0, now);
  }).join();
  return came_back;
}

}  // namespace

QuietLoad QuietLoad::Begin() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NICE, &limit);
  }
  if (!CanComeBack()) return QuietLoad(0);
  const int before = Niceness();
  const int lower = std::min(kLower, kLowest - before);
  return QuietLoad(SetNiceness(0, before + lower) ? lower : 0);
}

void QuietLoad::End() {
  if (lowered_by_ == 0) return;
  const int before = Niceness() - lowered_by_;
  lowered_by_ = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = task.path().filename().string();
    id_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread != 0) SetNiceness(thread, before);
  }
}

}  // namespace inferd::worker
