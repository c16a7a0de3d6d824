// Threads that share out the items of one job after another, with the caller as thread 0.
//
//   ThreadPool pool(2);
//   pool.Run(rows, [&](int64_t row, int32_t thread) { Normalize(row, scratch[thread]); });  // returns when all are
//   done
//
// Items are taken in ascending order by whoever is free. A thread waits for the next job by spinning for some 50
// microseconds, less where that was in vain before, and then sleeping on a futex; the caller waits for the last item in
// the same way. A thread that the system does not run takes no items, so a busy neighbour costs its share of the time
// and no more (measured by tests/bench/kernels/pool_bench). Jobs must not start jobs.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace inferd::device {

class ThreadPool {
 public:
  explicit ThreadPool(int32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int32_t threads() const { return threads_; }
  // Of all jobs since the start, modulo 2^32; asked by any thread, also while a job runs.
  uint32_t items_done() const { return done_.load(std::memory_order_relaxed); }

  static constexpr int64_t kMaximumItems = (int64_t{1} << 24) - 65536;  // of one job; the rest counts vain attempts

  // task(item, thread) for each item in 0..items-1. One item runs in the caller without waking anybody.
  template <typename Task>
  void Run(int64_t items, Task&& task) {
    if (items <= 1 || threads_ == 1) {
      for (int64_t item = 0; item < items; ++item) {
        task(item, 0);
        done_.fetch_add(1, std::memory_order_relaxed);
      }
      return;
    }
    using Plain = std::remove_reference_t<Task>;
    RunJob(items, const_cast<void*>(static_cast<const void*>(&task)),
           [](void* context, int64_t item, int32_t thread) { (*static_cast<Plain*>(context))(item, thread); });
  }

 private:
  using Trampoline = void (*)(void* context, int64_t item, int32_t thread);

  void RunJob(int64_t items, void* context, Trampoline trampoline);
  void Work(int32_t thread);
  void TakeItems(int32_t thread);
  uint32_t AwaitJob(uint32_t last_job);
  void AwaitDone();

  const int32_t threads_;
  // One word says all that a thread must agree on before it may touch a job: job number (16 bits), items (24), next
  // item (24). Whoever raises `next` below `items` owns that item, and the job's other fields stay as they are until it
  // is done.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> done_{0};  // items of all jobs, modulo 2^32
  std::atomic<uint32_t> caller_sleeps_{0};
  alignas(64) std::atomic<uint32_t> job_{0};  // counts jobs; threads sleep on it
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  uint32_t done_after_ = 0;  // done_ when the current job is done
  void* context_ = nullptr;
  Trampoline trampoline_ = nullptr;
  std::vector<std::thread> workers_;
};

}  // namespace inferd::device
