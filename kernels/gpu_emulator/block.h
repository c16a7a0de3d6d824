// Runs a kernel's blocks on the CPU, one after the other: each thread of a block is a fiber, which gives way only where
// it has to wait for others.
//
//   RunGrid("Scale", {.x = 4}, {.x = 64}, {LaneOrder::kBackward}, [&] { Scale(x, 2.0f, n, out); });
//
// The lanes of a warp run in a chosen order: a missing barrier shows as a result that depends on it. A launch that the
// device would refuse, a barrier that not all threads reach, lanes of a warp that meet in different operations and
// writes beyond a shared array end the process with a message that names the kernel and the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace inferd::kernels::gpu_emulator {

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
};

enum class LaneOrder : uint8_t { kForward, kBackward, kRandom };

struct Schedule {
  LaneOrder order = LaneOrder::kForward;
  uint32_t seed = 1;  // of kRandom
};

// Limits of every device from compute capability 8.0 on.
constexpr uint32_t kMostThreads = 1024, kMostBlocksX = 0x7FFFFFFF, kMostBlocksYZ = 65535;
constexpr size_t kMostSharedBytes = 48 << 10;

void RunGrid(const char* kernel, Dimensions grid, Dimensions block, Schedule schedule,
             const std::function<void()>& body);

// ---- of the thread that is running; outside RunGrid they end the process

int Thread();
Dimensions BlockIndex();

// Returns when all threads of the block have called it from the same line.
void SyncThreads(int line = __builtin_LINE());

// An array of the block, found by the address that stands for its declaration. Filled with NaN when a block begins.
void* SharedArray(const void* declaration, size_t bytes);

// What lanes of a warp do together.
enum class Collective : uint8_t { kSync, kShuffle, kTiles };
struct WarpSlots {
  uint32_t values[32];
  uint32_t a[32][4], b[32][2];
  int32_t d[32][4];
};
// The slots in which the lanes of the running thread's warp meet next.
WarpSlots& NextSlots();
// Returns when all lanes of the warp have called it; the last one to arrive calls `combine` (or nullptr) before.
void Meet(Collective kind, void (*combine)(WarpSlots&));

// Copies of the running thread that land when it waits for them, as late as they may.
void StartCopy(void* to, const void* from, size_t bytes);
void CommitCopies();
void WaitCopies(size_t groups_left);

}  // namespace inferd::kernels::gpu_emulator
