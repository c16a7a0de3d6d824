#include "worker/memory_end.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "config/base/child_process.h"

namespace inferd::worker {
namespace {

// More than the stack of a thread, 8 MiB by default, and than libraries take in one piece for a large message.
constexpr size_t kProbeBytes = 32 << 20;
// By default the C library raises its thresholds to what was freed, up to 32 MiB, and each of its arenas keeps twice as
// much: a few large requests would hold most of a small limit without anybody using it.
constexpr int kLargeBytes = 512 << 10;

// Calls nothing but what a signal handler may; abort() goes on where this returns.
void OnAbort(int) {
  void* const more = mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (more == MAP_FAILED) _exit(kExitOutOfMemory);
}

}  // namespace

void ExitWhereMemoryEnds() {
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kLargeBytes);
  std::set_new_handler([] { _exit(kExitOutOfMemory); });
  struct sigaction action {};
  action.sa_handler = OnAbort;
  sigaction(SIGABRT, &action, nullptr);
}

}  // namespace inferd::worker
