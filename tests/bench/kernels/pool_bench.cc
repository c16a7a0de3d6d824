// What a pool of as many threads as there are cores gets done beside others like it, as when two workers run at a swap:
// steps of 150 jobs of 16 items of some 5 microseconds. The counters: steps a second of one pool, and its 50th and 99th
// percentile of a step's time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/device/cpu/cpu_options.h"
#include "engine/device/cpu/thread_pool.h"

namespace {

using Seconds = std::chrono::duration<double>;
using std::chrono::steady_clock;

constexpr int kJobs = 150;
constexpr int64_t kItems = 16;
constexpr int kTurns = 4000;  // of an item

void RunItem() {
  uint64_t value = 1;
  for (int i = 0; i < kTurns; ++i) {
    value = value * 6364136223846793005u + 1;
    benchmark::DoNotOptimize(value);
  }
}

double Step(inferd::device::ThreadPool& pool) {
  const auto begin = steady_clock::now();
  for (int job = 0; job < kJobs; ++job) pool.Run(kItems, [](int64_t, int32_t) { RunItem(); });
  return Seconds(steady_clock::now() - begin).count();
}

void PoolsSideBySide(benchmark::State& state) {
  const auto others = static_cast<size_t>(state.range(0)) - 1;
  std::atomic<bool> over = false;
  std::vector<std::thread> callers;
  for (size_t i = 0; i < others; ++i) {
    callers.emplace_back([&over] {
      inferd::device::ThreadPool pool(inferd::device::DefaultThreads());
      while (!over) Step(pool);
    });
  }
  inferd::device::ThreadPool pool(inferd::device::DefaultThreads());
  std::vector<double> seconds;
  for (auto _ : state) seconds.push_back(Step(pool));
  over = true;
  for (std::thread& caller : callers) caller.join();
  std::sort(seconds.begin(), seconds.end());
  state.counters["p50_ms"] = seconds[seconds.size() / 2] * 1e3;
  state.counters["p99_ms"] = seconds[seconds.size() * 99 / 100] * 1e3;
  state.counters["steps_per_second"] =
      benchmark::Counter(static_cast<double>(seconds.size()), benchmark::Counter::kIsRate);
}

BENCHMARK(PoolsSideBySide)->Arg(1)->Arg(2)->Arg(3)->UseRealTime()->MinTime(2);

}  // namespace

BENCHMARK_MAIN();
