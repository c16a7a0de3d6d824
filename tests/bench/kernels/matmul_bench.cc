// Products of every type by every variant that runs here, one thread: what share of the measured peak they reach, and
// how fast they read the weights.
//
//   matmul_bench --benchmark_filter='avx512/Q4_K/2048x2048/(1|16|512)$'
//
// share_of_peak: multiply-adds per second over those of the variant's fastest int8 (float weights: f32) product on
// registers. GB/s: weight bytes per second. With one token the weights come from memory: the matrix is larger than the
// caches and each run takes another part of it.
#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "kernels/kernels.h"
#include "kernels/testing/weights.h"
#include "tests/bench/thread_time.h"

namespace inferd::kernels {
namespace {

using testing::AlignedBytes;

constexpr size_t kBeyondCaches = size_t{192} << 20;

// The best of several short runs, for neighbours slow the caches down.
double Peak(const Kernels& kernels, bool integer) {
  static std::map<std::pair<std::string, bool>, double> known;
  double& best = known[{kernels.name, integer}];
  for (int i = 0; best == 0 || i < 50; ++i) {
    if (i == 0 && best != 0) return best;
    float sink = 0;
    const double begin = ThreadSeconds();
    const int64_t operations = (integer ? kernels.int8_peak : kernels.float_peak)(100000, &sink);
    const double seconds = ThreadSeconds() - begin;
    benchmark::DoNotOptimize(sink);
    best = std::max(best, static_cast<double>(operations) / seconds);
  }
  return best;
}

void Multiply(benchmark::State& state, const Kernels& kernels, TensorType type, int64_t rows, int64_t k,
              int64_t tokens) {
  std::mt19937_64 random(1);
  const ActivationFormat format = TraitsOf(type).activation;
  // A few random rows, repeated: making random blocks is slow.
  testing::Weights few = testing::RandomWeights(type, 16, k, random);
  const size_t matrix_bytes = few.row_bytes * static_cast<size_t>(rows);
  const int64_t matrices = tokens > 16 ? 1 : static_cast<int64_t>(kBeyondCaches / matrix_bytes) + 1;
  std::vector<uint8_t> weights;
  weights.reserve(matrix_bytes * static_cast<size_t>(matrices));
  while (weights.size() < matrix_bytes * static_cast<size_t>(matrices)) {
    weights.insert(weights.end(), few.bytes.begin(), few.bytes.end());
  }
  std::vector<float> x(static_cast<size_t>(tokens * k));
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  const AlignedBytes y = testing::Quantized(kernels, format, x, tokens, k);
  AlignedBytes scratch(kernels.matmul_scratch_bytes(type, k));
  std::vector<float> out(static_cast<size_t>(rows * tokens));
  double best = 1e30;
  int64_t matrix = 0;
  for (auto _ : state) {
    const double begin = ThreadSeconds();
    kernels.matmul(
        {.weights = {type, weights.data() + matrix_bytes * static_cast<size_t>(matrix), rows, k, few.row_bytes},
         .row_begin = 0,
         .row_end = rows,
         .activations = y.data(),
         .tokens = tokens,
         .out = out.data(),
         .out_stride = rows,
         .scratch = scratch.data()});
    best = std::min(best, ThreadSeconds() - begin);
    matrix = (matrix + 1) % matrices;
  }
  const double peak = Peak(kernels, format != ActivationFormat::kFloat);
  state.counters["share_of_peak"] = 2.0 * static_cast<double>(rows * k * tokens) / best / peak;
  state.counters["GB/s"] = static_cast<double>(matrix_bytes) / best / 1e9;
}

void RegisterAll() {
  for (const char* const* name = KernelVariants(); *name != nullptr; ++name) {
    const Kernels* kernels = SelectKernels(*name);
    if (kernels == nullptr) continue;
    for (TensorType type : testing::AllTypes()) {
      for (auto [rows, k] :
           {std::pair<int64_t, int64_t>{256, 2048}, {2048, 2048}, {8192, 2048}, {2048, 8192}, {1536, 576}}) {
        if (k % TraitsOf(type).block_elements != 0) continue;
        for (int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 512}) {
          const std::string label = std::string(*name) + "/" + TraitsOf(type).name + "/" + std::to_string(rows) + "x" +
                                    std::to_string(k) + "/" + std::to_string(tokens);
          benchmark::RegisterBenchmark(label.c_str(), [=](benchmark::State& state) {
            Multiply(state, *kernels, type, rows, k, tokens);
          })->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
}

}  // namespace
}  // namespace inferd::kernels

int main(int argc, char** argv) {
  inferd::kernels::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
