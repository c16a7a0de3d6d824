#include "worker/memory_end.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "config/base/child_process.h"

namespace inferd::worker {
namespace {

// More than the stack of a thread, 8 MiB by default.
constexpr size_t kProbeBytes = 10 << 20;

// Calls nothing but what a signal handler may; abort() goes on where this returns.
void OnAbort(int) {
  void* const more = mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (more == MAP_FAILED) _exit(kExitOutOfMemory);
}

}  // namespace

void ExitWhereMemoryEnds() {
  std::set_new_handler([] { _exit(kExitOutOfMemory); });
  struct sigaction action {};
  action.sa_handler = OnAbort;
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace inferd::worker
