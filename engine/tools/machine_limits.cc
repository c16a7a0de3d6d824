#include "engine/tools/machine_limits.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace inferd::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 12;
constexpr double kProductSeconds = 0.05;          // of each run: a rate that the processor keeps up, as a pass must
constexpr size_t kBytesPerThread = 128ull << 20;  // beyond any cache

// Runs work(thread) on all threads at once, kRuns times; returns the best total amount per second. work returns the
// amount it did.
double BestRate(int threads, const std::function<double(int)>& work) {
  double best = 0;
  std::vector<double> amounts(threads);
  Clock::time_point begin;
  std::barrier start(threads, [&begin]() noexcept { begin = Clock::now(); });
  std::barrier finish(threads, [&]() noexcept {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    double total = 0;
    for (const double amount : amounts) total += amount;
    best = std::max(best, total / seconds);
  });
  const auto run = [&](int thread) {
    for (int i = 0; i < kRuns; ++i) {
      start.arrive_and_wait();
      amounts[thread] = work(thread);
      finish.arrive_and_wait();
    }
  };
  std::vector<std::jthread> workers;
  for (int thread = 1; thread < threads; ++thread) workers.emplace_back(run, thread);
  run(0);
  return best;
}

// How many rounds take kProductSeconds.
int64_t RoundsOf(const std::function<void(int64_t)>& run) {
  for (int64_t rounds = 1000;; rounds *= 4) {
    const Clock::time_point begin = Clock::now();
    run(rounds);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds > kProductSeconds / 10) {
      return std::max<int64_t>(static_cast<int64_t>(static_cast<double>(rounds) * kProductSeconds / seconds), 1);
    }
  }
}

// Eight independent sums, so that neither the adds nor the loop are the limit.
uint64_t ReadAll(const std::vector<uint64_t>& memory) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= memory.size(); i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) sums[lane] += memory[i + lane];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

MachineLimits MeasureMachine(const kernels::Kernels& kernels, int threads) {
  MachineLimits limits;
  std::vector<float> sinks(threads * 16);  // a cache line each
  const auto peak = [&](auto products) {
    const int64_t rounds = RoundsOf([&](int64_t some) { products(some, sinks.data()); });
    return BestRate(threads, [&](int thread) { return static_cast<double>(products(rounds, &sinks[thread * 16])); });
  };
  limits.int8_ops_per_second = peak(kernels.int8_peak);
  limits.f32_flops_per_second = peak(kernels.float_peak);
  std::vector<std::vector<uint64_t>> memory(threads);
  for (auto& part : memory) part.assign(kBytesPerThread / sizeof(uint64_t), 1);
  limits.read_bytes_per_second = BestRate(threads, [&](int thread) {
    sinks[thread * 16] += static_cast<float>(ReadAll(memory[thread]) & 1);
    return static_cast<double>(kBytesPerThread);
  });
  return limits;
}

}  // namespace inferd::tools
