// Runs a kernel's blocks on the CPU, one after the other: each thread of a block is a fiber, which gives way only where
// it has to wait for others.
//
//   RunGrid("Scale", 64, {.x = 4}, {.x = 64}, {LaneOrder::kBackward}, [&] { Scale({}, x, 2.0f, n, out); });
//
// Blocks, warps and lanes run in a chosen order: a missing barrier shows as a result that depends on it. A launch that
// the device would refuse, a barrier that not all threads reach, lanes of a warp that meet in different operations or
// ask lanes that are not there, and writes beyond a shared array end the process with a message that names the kernel
// and the thread; what goes beyond a shared array's guarded end (its beginning in LaneOrder::kBackward) dies by
// SIGSEGV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/gpu_emulator/guarded_memory.h"

namespace inferd::kernels::gpu_emulator {

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
};

enum class LaneOrder : uint8_t { kForward, kBackward, kRandom };

struct Schedule {
  LaneOrder order = LaneOrder::kForward;
  uint32_t seed = 1;  // of kRandom: of any thread that can go on, in whichever block and warp
};

// At which end memory beyond an array cannot be touched: the other one in another order.
inline Edge EdgeOf(Schedule schedule) { return schedule.order == LaneOrder::kBackward ? Edge::kBegin : Edge::kEnd; }

// The first parameter of each kernel: how many threads its blocks have at most, for which it is compiled.
template <uint32_t kMost>
struct MostThreads {};

// Limits of every device from compute capability 8.0 on.
constexpr uint32_t kMostThreadsOfBlock = 1024, kMostThreadsZ = 64, kMostBlocksX = 0x7FFFFFFF, kMostBlocksYZ = 65535;

void RunGrid(const char* kernel, uint32_t most_threads, Dimensions grid, Dimensions block, Schedule schedule,
             const std::function<void()>& body);

// ---- of the thread that is running; outside RunGrid they end the process

int Thread();
Dimensions BlockIndex();

// Returns when all threads of the block have called it from the same line.
void SyncThreads(int line = __builtin_LINE());

// An array of the block, found by the address that stands for its declaration. NaN until written.
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
// Ends the process unless the running thread's warp has the lane.
void CheckLane(int lane);

// Copies of the running thread that land when it waits for them, as late as they may.
void StartCopy(void* to, const void* from, size_t bytes);
void CommitCopies();
void WaitCopies(size_t groups_left);

}  // namespace inferd::kernels::gpu_emulator
