#include "kernels/gpu_emulator/block.h"

#include <sys/mman.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/gpu_emulator/shared_memory.h"

namespace inferd::kernels::gpu_emulator {
namespace {

namespace context = boost::context::detail;

constexpr size_t kStackBytes = 64 << 10, kPageBytes = 4096;

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
  std::vector<std::vector<PendingCopy>> copies;  // committed groups, oldest first
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

// The n first numbers in any order.
class Shuffled {
 public:
  void Seed(uint32_t seed) { state_ = seed * 2654435761u | 1; }
  bool Coin() { return Next(2) == 0; }
  const std::vector<uint32_t>& Numbers(uint32_t n) {
    numbers_.resize(n);
    std::iota(numbers_.begin(), numbers_.end(), 0);
    for (uint32_t i = n; i > 1; --i) std::swap(numbers_[i - 1], numbers_[Next(i)]);
    return numbers_;
  }

 private:
  uint32_t Next(uint32_t below) {  // xorshift (Marsaglia 2003)
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return static_cast<uint32_t>(uint64_t{state_} * below >> 32);
  }
  uint32_t state_ = 1;
  std::vector<uint32_t> numbers_;
};

class Stacks {
 public:
  Stacks() {
    void* const memory = mmap(nullptr, kMostThreadsOfBlock * kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(memory);
    for (size_t i = 0; i < kMostThreadsOfBlock; ++i) mprotect(base_ + i * kStackBytes, kPageBytes, PROT_NONE);
  }
  ~Stacks() { munmap(base_, kMostThreadsOfBlock * kStackBytes); }
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

  void* SharedArray(const void* declaration, size_t bytes) {
    void* const array = shared_.Array(declaration, bytes);
    if (array == nullptr) Fail("more than 48 KiB of shared memory");
    return array;
  }

  Dimensions index;
  size_t current = 0;  // the running thread
  std::vector<Fiber> fibers;
  std::vector<WarpState> warps;
  Meeting barrier;
  context::fcontext_t scheduler = nullptr;
  const std::function<void()>* body = nullptr;

 private:
  void Start(size_t threads, Schedule schedule);
  bool RunRound(Schedule schedule);
  bool RunWarp(size_t warp, Schedule schedule);
  bool RunIfReady(size_t thread);

  const char* kernel_ = nullptr;
  Stacks stacks_;
  SharedMemory shared_;
  size_t left_ = 0;
  Shuffled threads_, lanes_;
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

void Block::Start(size_t threads, Schedule schedule) {
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
  shared_.Begin(EdgeOf(schedule));
  left_ = threads;
  const uint32_t seed = schedule.seed + 7919 * (index.x + 31 * index.y + 961 * index.z);
  threads_.Seed(seed);
  lanes_.Seed(~seed);
}

void Block::Run(const char* kernel, Dimensions block_index, size_t threads, Schedule schedule,
                const std::function<void()>& kernel_body) {
  kernel_ = kernel;
  index = block_index;
  body = &kernel_body;
  Start(threads, schedule);
  while (left_ > 0) {
    if (!RunRound(schedule)) Fail("all threads wait: a barrier that not all of them reach");
  }
  if (barrier.arrived != 0) Fail("threads wait at a barrier, others have ended");
  if (!shared_.Intact()) Fail("wrote beyond a shared array");
}

// Each warp as far as it comes, or in random order at times each thread, of whichever warp, once. Whether any ran.
bool Block::RunRound(Schedule schedule) {
  const size_t warp_count = warps.size();
  bool any = false;
  if (schedule.order != LaneOrder::kRandom) {
    const bool backward = schedule.order == LaneOrder::kBackward;
    for (size_t i = 0; i < warp_count; ++i) any |= RunWarp(backward ? warp_count - 1 - i : i, schedule);
  } else if (threads_.Coin()) {
    for (const uint32_t warp : threads_.Numbers(static_cast<uint32_t>(warp_count))) any |= RunWarp(warp, schedule);
  } else {
    for (const uint32_t thread : threads_.Numbers(static_cast<uint32_t>(fibers.size()))) any |= RunIfReady(thread);
  }
  return any;
}

// Runs its lanes as long as any can; whether any did.
bool Block::RunWarp(size_t warp, Schedule schedule) {
  const size_t lanes = warps[warp].lanes;
  bool any = false;
  for (bool moved = true; moved; any |= moved) {
    moved = false;
    if (schedule.order == LaneOrder::kRandom) {
      for (const uint32_t lane : lanes_.Numbers(static_cast<uint32_t>(lanes))) moved |= RunIfReady(warp * 32 + lane);
      continue;
    }
    for (size_t i = 0; i < lanes; ++i) {
      moved |= RunIfReady(warp * 32 + (schedule.order == LaneOrder::kBackward ? lanes - 1 - i : i));
    }
  }
  return any;
}

bool Block::RunIfReady(size_t thread) {
  Fiber& fiber = fibers[thread];
  if (fiber.done || (fiber.waits_on != nullptr && *fiber.waits_on == fiber.generation)) return false;
  current = thread;
  fiber.waits_on = nullptr;
  fiber.context = context::jump_fcontext(fiber.context, nullptr).fctx;
  if (!fiber.done) return true;
  if (!fiber.open_copies.empty() || !fiber.copies.empty()) Fail("ends before its asynchronous copies");
  --left_;
  return true;
}

void Land(std::vector<PendingCopy>& copies) {
  for (const PendingCopy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
  copies.clear();
}

void CheckLaunch(const char* kernel, uint32_t most_threads, Dimensions grid, Dimensions block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const bool blocks = grid.x >= 1 && grid.x <= kMostBlocksX && grid.y >= 1 && grid.y <= kMostBlocksYZ && grid.z >= 1 &&
                      grid.z <= kMostBlocksYZ;
  if (!blocks || threads < 1 || threads > kMostThreadsOfBlock || block.z > kMostThreadsZ) {
    std::fprintf(stderr, "gpu emulator: kernel %s: a grid of %u x %u x %u blocks of %u x %u x %u threads\n", kernel,
                 grid.x, grid.y, grid.z, block.x, block.y, block.z);
  } else if (threads > most_threads) {
    std::fprintf(stderr, "gpu emulator: kernel %s: blocks of %llu threads, it is made for %u\n", kernel,
                 static_cast<unsigned long long>(threads), most_threads);
  } else {
    return;
  }
  std::abort();
}

}  // namespace

void RunGrid(const char* kernel, uint32_t most_threads, Dimensions grid, Dimensions block, Schedule schedule,
             const std::function<void()>& body) {
  CheckLaunch(kernel, most_threads, grid, block);
  static thread_local Block memory;
  Running() = &memory;
  const uint64_t plane = uint64_t{grid.x} * grid.y, count = plane * grid.z;
  Shuffled shuffled;
  shuffled.Seed(schedule.seed);
  const bool random = schedule.order == LaneOrder::kRandom && count <= UINT32_MAX;
  const std::vector<uint32_t>* const order = random ? &shuffled.Numbers(static_cast<uint32_t>(count)) : nullptr;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = random ? (*order)[i] : schedule.order == LaneOrder::kBackward ? count - 1 - i : i;
    const Dimensions index{static_cast<uint32_t>(at % grid.x), static_cast<uint32_t>(at % plane / grid.x),
                           static_cast<uint32_t>(at / plane)};
    memory.Run(kernel, index, size_t{block.x} * block.y * block.z, schedule, body);
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

void CheckLane(int lane) {
  Block& block = Current();
  if (lane < 0 || static_cast<size_t>(lane) >= block.warp().lanes) {
    block.Fail("a shuffle from a lane that is not there");
  }
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
  for (; fiber.copies.size() > groups_left; fiber.copies.erase(fiber.copies.begin())) Land(fiber.copies.front());
}

}  // namespace inferd::kernels::gpu_emulator
