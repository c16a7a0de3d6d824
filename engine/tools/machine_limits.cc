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
constexpr int64_t kRounds = 400'000;              // about a millisecond of products
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
  limits.int8_ops_per_second = BestRate(
      threads, [&](int thread) { return static_cast<double>(kernels.int8_peak(kRounds, &sinks[thread * 16])); });
  limits.f32_flops_per_second = BestRate(
      threads, [&](int thread) { return static_cast<double>(kernels.float_peak(kRounds, &sinks[thread * 16])); });
  std::vector<std::vector<uint64_t>> memory(threads);
  for (auto& part : memory) part.assign(kBytesPerThread / sizeof(uint64_t), 1);
  limits.read_bytes_per_second = BestRate(threads, [&](int thread) {
    sinks[thread * 16] += static_cast<float>(ReadAll(memory[thread]) & 1);
    return static_cast<double>(kBytesPerThread);
  });
  return limits;
}

}  // namespace inferd::tools
