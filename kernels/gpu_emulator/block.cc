#include "kernels/gpu_emulator/block.h"

#include <sys/mman.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

namespace inferd::kernels::gpu_emulator {
namespace {

namespace context = boost::context::detail;

constexpr size_t kStackBytes = 64 << 10, kPageBytes = 4096;
constexpr size_t kGapBytes = 64;      // behind each shared array, checked when the block ends
constexpr uint8_t kUnwritten = 0xFF;  // as float and as half NaN

struct PendingCopy {
  void* to;
  const void* from;
  size_t bytes;
};

struct Fiber {
  context::fcontext_t context = nullptr;
  bool done = false;
  const uint32_t* waits_on = nullptr;  // a generation that has to change before it goes on
  uint32_t generation = 0;
  std::deque<std::vector<PendingCopy>> copies;  // committed groups, oldest first
  std::vector<PendingCopy> open_copies;
};

// Lanes that have arrived where all of a warp, or of a block, have to.
struct Meeting {
  uint32_t generation = 0;
  size_t arrived = 0;
  uint32_t place = 0;  // of the first one to arrive: a line, or a Collective
};

struct WarpState {
  size_t lanes = 0;
  Meeting meeting;
  WarpSlots slots[2];  // one fills while slow lanes still read the other
};

struct SharedEntry {
  const void* declaration;
  size_t offset, bytes;
};

class Stacks {
 public:
  Stacks() {
    void* const memory = mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(memory);
    for (size_t i = 0; i < kMostThreads; ++i) mprotect(base_ + i * kStackBytes, kPageBytes, PROT_NONE);
  }
  ~Stacks() { munmap(base_, kMostThreads * kStackBytes); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  // Stacks begin at different lines of the cache.
  std::byte* Top(size_t thread) const { return base_ + (thread + 1) * kStackBytes - 64 - thread % 16 * 192; }

 private:
  std::byte* base_;
};

class Block {
 public:
  void Run(const char* kernel, Dimensions index, size_t threads, Schedule schedule, const std::function<void()>& body);

  [[noreturn]] void Fail(const char* what) const {
    std::fprintf(stderr, "gpu emulator: kernel %s, block %u %u %u, thread %zu: %s\n", kernel_, index.x, index.y,
                 index.z, current, what);
    std::abort();
  }
  Fiber& fiber() { return fibers[current]; }
  WarpState& warp() { return warps[current / 32]; }

  // Returns when `all` have arrived at one place.
  template <class Last>
  void Arrive(Meeting& meeting, size_t all, uint32_t place, const char* different, const Last& last) {
    if (meeting.arrived == 0) meeting.place = place;
    if (meeting.place != place) Fail(different);
    const uint32_t mine = meeting.generation;
    if (++meeting.arrived < all) {
      fiber().waits_on = &meeting.generation;
      fiber().generation = mine;
      scheduler = context::jump_fcontext(scheduler, nullptr).fctx;
      return;
    }
    last();
    meeting.arrived = 0;
    ++meeting.generation;
  }

  void* SharedArray(const void* declaration, size_t bytes);

  Dimensions index;
  size_t current = 0;  // the running thread
  std::vector<Fiber> fibers;
  std::vector<WarpState> warps;
  Meeting barrier;
  context::fcontext_t scheduler = nullptr;
  const std::function<void()>* body = nullptr;

 private:
  void Start(size_t threads);
  bool RunWarp(size_t warp, Schedule schedule);
  void RunThread(size_t thread);
  void CheckGaps() const;

  const char* kernel_ = nullptr;
  Stacks stacks_;
  size_t left_ = 0;
  uint32_t random_ = 1;
  std::vector<SharedEntry> shared_;
  alignas(64) uint8_t shared_bytes_[2 * kMostSharedBytes];
};

// The block whose thread is running on this OS thread; as the registers of a device, kernels find it without being
// told.
Block*& Running() {
  static thread_local Block* running = nullptr;
  return running;
}

Block& Current() {
  Block* const block = Running();
  if (block == nullptr) {
    std::fputs("gpu emulator: an operation of kernels outside of a kernel\n", stderr);
    std::abort();
  }
  return *block;
}

void Entry(context::transfer_t from) {
  Block& block = Current();
  block.scheduler = from.fctx;
  (*block.body)();
  block.fiber().done = true;
  context::jump_fcontext(block.scheduler, nullptr);
}

void Block::Start(size_t threads) {
  fibers.assign(threads, {});
  warps.resize((threads + 31) / 32);
  for (size_t w = 0; w < warps.size(); ++w) {
    warps[w].lanes = std::min<size_t>(32, threads - w * 32);
    warps[w].meeting = {};
  }
  for (size_t i = 0; i < threads; ++i) {
    fibers[i].context = context::make_fcontext(stacks_.Top(i), kStackBytes - 2 * kPageBytes, Entry);
  }
  barrier = {};
  shared_.clear();
  std::memset(shared_bytes_, kUnwritten, sizeof(shared_bytes_));
  left_ = threads;
}

void Block::Run(const char* kernel, Dimensions block_index, size_t threads, Schedule schedule,
                const std::function<void()>& kernel_body) {
  kernel_ = kernel;
  index = block_index;
  body = &kernel_body;
  random_ = schedule.seed * 2654435761u + block_index.x;
  Start(threads);
  while (left_ > 0) {
    bool moved = false;
    for (size_t i = 0; i < warps.size(); ++i) {
      moved |= RunWarp(schedule.order == LaneOrder::kBackward ? warps.size() - 1 - i : i, schedule);
    }
    if (!moved) Fail("all threads wait: a barrier that not all of them reach");
  }
  if (barrier.arrived != 0) Fail("threads wait at a barrier, others have ended");
  CheckGaps();
}

// Runs its lanes as long as any can; whether any did.
bool Block::RunWarp(size_t warp, Schedule schedule) {
  bool any = false;
  for (bool moved = true; moved;) {
    moved = false;
    const size_t lanes = warps[warp].lanes;
    if (schedule.order == LaneOrder::kRandom) random_ = random_ * 1664525u + 1013904223u;
    for (size_t i = 0; i < 32; ++i) {
      const size_t lane = schedule.order == LaneOrder::kForward    ? i
                          : schedule.order == LaneOrder::kBackward ? 31 - i
                                                                   : (i * 13 + (random_ >> 27)) % 32;
      if (lane >= lanes) continue;
      const Fiber& fiber = fibers[warp * 32 + lane];
      if (fiber.done || (fiber.waits_on != nullptr && *fiber.waits_on == fiber.generation)) continue;
      RunThread(warp * 32 + lane);
      moved = any = true;
    }
  }
  return any;
}

void Block::RunThread(size_t thread) {
  current = thread;
  Fiber& fiber = fibers[thread];
  fiber.waits_on = nullptr;
  fiber.context = context::jump_fcontext(fiber.context, nullptr).fctx;
  if (!fiber.done) return;
  if (!fiber.open_copies.empty() || !fiber.copies.empty()) Fail("ends before its asynchronous copies");
  --left_;
}

void* Block::SharedArray(const void* declaration, size_t bytes) {
  size_t end = 0, total = bytes;
  for (const SharedEntry& entry : shared_) {
    if (entry.declaration == declaration) return shared_bytes_ + entry.offset;
    end = (entry.offset + entry.bytes + kGapBytes + 63) / 64 * 64;
    total += entry.bytes;
  }
  if (total > kMostSharedBytes) Fail("more than 48 KiB of shared memory");
  if (end + bytes + kGapBytes > sizeof(shared_bytes_)) Fail("too many shared arrays");
  shared_.push_back({declaration, end, bytes});
  return shared_bytes_ + end;
}

void Block::CheckGaps() const {
  size_t end = 0;
  for (const SharedEntry& entry : shared_) {
    const auto untouched = [](uint8_t byte) { return byte == kUnwritten; };
    if (!std::all_of(shared_bytes_ + end, shared_bytes_ + entry.offset, untouched)) Fail("wrote beyond a shared array");
    end = entry.offset + entry.bytes;
  }
  for (size_t i = end; i < end + kGapBytes && end > 0; ++i) {
    if (shared_bytes_[i] != kUnwritten) Fail("wrote beyond a shared array");
  }
}

void Land(std::vector<PendingCopy>& copies) {
  for (const PendingCopy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
  copies.clear();
}

void CheckLaunch(const char* kernel, Dimensions grid, Dimensions block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const bool blocks = grid.x >= 1 && grid.x <= kMostBlocksX && grid.y >= 1 && grid.y <= kMostBlocksYZ && grid.z >= 1 &&
                      grid.z <= kMostBlocksYZ;
  if (threads >= 1 && threads <= kMostThreads && blocks) return;
  std::fprintf(stderr, "gpu emulator: kernel %s: a grid of %u x %u x %u blocks of %u x %u x %u threads\n", kernel,
               grid.x, grid.y, grid.z, block.x, block.y, block.z);
  std::abort();
}

}  // namespace

void RunGrid(const char* kernel, Dimensions grid, Dimensions block, Schedule schedule,
             const std::function<void()>& body) {
  CheckLaunch(kernel, grid, block);
  static thread_local Block memory;
  Running() = &memory;
  for (uint32_t z = 0; z < grid.z; ++z) {
    for (uint32_t y = 0; y < grid.y; ++y) {
      for (uint32_t x = 0; x < grid.x; ++x) {
        memory.Run(kernel, {x, y, z}, size_t{block.x} * block.y * block.z, schedule, body);
      }
    }
  }
  Running() = nullptr;
}

int Thread() { return static_cast<int>(Current().current); }
Dimensions BlockIndex() { return Current().index; }

void SyncThreads(int line) {
  Block& block = Current();
  block.Arrive(block.barrier, block.fibers.size(), static_cast<uint32_t>(line), "threads wait at different barriers",
               [] {});
}

void* SharedArray(const void* declaration, size_t bytes) { return Current().SharedArray(declaration, bytes); }

WarpSlots& NextSlots() {
  WarpState& warp = Current().warp();
  return warp.slots[warp.meeting.generation & 1];
}

void Meet(Collective kind, void (*combine)(WarpSlots&)) {
  Block& block = Current();
  WarpState& warp = block.warp();
  block.Arrive(warp.meeting, warp.lanes, static_cast<uint32_t>(kind), "lanes of a warp meet in different operations",
               [&] {
                 if (combine != nullptr) combine(NextSlots());
               });
}

void StartCopy(void* to, const void* from, size_t bytes) {
  Block& block = Current();
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes != 0) {
    block.Fail("an asynchronous copy is not aligned");
  }
  block.fiber().open_copies.push_back({to, from, bytes});
}

void CommitCopies() {
  Fiber& fiber = Current().fiber();
  fiber.copies.push_back(std::move(fiber.open_copies));
  fiber.open_copies.clear();
}

void WaitCopies(size_t groups_left) {
  Fiber& fiber = Current().fiber();
  for (; fiber.copies.size() > groups_left; fiber.copies.pop_front()) Land(fiber.copies.front());
}

}  // namespace inferd::kernels::gpu_emulator
