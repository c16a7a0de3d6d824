#include "engine/device/cpu/thread_pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>

#include "config/base/status.h"
#include "kernels/kernels.h"

namespace inferd::device {
namespace {

constexpr auto kLongestSpin = std::chrono::microseconds(50);
constexpr int kItemBits = 24;
constexpr uint64_t kItemMask = (uint64_t{1} << kItemBits) - 1;

uint64_t TicketOf(uint32_t job, int64_t items) {
  return uint64_t{job & 0xFFFFu} << (2 * kItemBits) | static_cast<uint64_t>(items) << kItemBits;
}

void Sleep(std::atomic<uint32_t>& word, uint32_t while_it_is) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
}

void Wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// Spins until ready() or the time is over; whether it became ready. A thread that waits in vain time after time,
// because what it waits for is not running, waits half as long each time, and longer again once it has not: what is
// spun away beside a busy neighbour is the neighbour's.
template <typename Ready>
bool SpinUntil(Ready ready) {
  constexpr int kPatience = 1, kMostVain = kPatience + 4;
  thread_local int vain = 0;  // more than there were successes since
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLongestSpin) / (1 << std::max(vain - kPatience, 0));
  do {
    for (int i = 0; i < 64; ++i) {
      if (!ready()) {
        kernels::SpinPause();
        continue;
      }
      vain = std::max(vain - 2, 0);
      return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  vain = std::min(vain + 1, kMostVain);
  return ready();
}

}  // namespace

ThreadPool::ThreadPool(int32_t threads) : threads_(threads) {
  CHECK(threads >= 1);
  for (int32_t thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { Work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  job_.fetch_add(1);
  Wake(job_);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunJob(int64_t items, void* context, Trampoline trampoline) {
  CHECK(items <= kMaximumItems);
  context_ = context;
  trampoline_ = trampoline;
  done_after_ = done_.load(std::memory_order_relaxed) + static_cast<uint32_t>(items);
  const uint32_t job = job_.load(std::memory_order_relaxed) + 1;
  ticket_.store(TicketOf(job, items), std::memory_order_release);
  job_.store(job);
  if (sleepers_.load() > 0) Wake(job_);
  TakeItems(0);
  AwaitDone();
}

void ThreadPool::Work(int32_t thread) {
  uint32_t job = 0;
  while (true) {
    job = AwaitJob(job);
    if (stop_.load()) return;
    TakeItems(thread);
  }
}

void ThreadPool::TakeItems(int32_t thread) {
  while (true) {
    const uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
    const uint64_t item = ticket & kItemMask, items = ticket >> kItemBits & kItemMask;
    if (item >= items) return;
    trampoline_(context_, static_cast<int64_t>(item), thread);
    const uint32_t done_after = done_after_;  // after the last item the next job may begin
    if (done_.fetch_add(1) + 1 == done_after && caller_sleeps_.load() != 0) Wake(done_);
  }
}

uint32_t ThreadPool::AwaitJob(uint32_t last_job) {
  if (SpinUntil([&] { return job_.load(std::memory_order_acquire) != last_job; })) return job_.load();
  sleepers_.fetch_add(1);
  uint32_t job;
  while ((job = job_.load()) == last_job) Sleep(job_, last_job);
  sleepers_.fetch_sub(1);
  return job;
}

void ThreadPool::AwaitDone() {
  const uint32_t all = done_after_;
  if (SpinUntil([&] { return done_.load(std::memory_order_acquire) == all; })) return;
  caller_sleeps_.store(1);
  for (uint32_t done; (done = done_.load()) != all;) Sleep(done_, done);
  caller_sleeps_.store(0);
}

}  // namespace inferd::device
