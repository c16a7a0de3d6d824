// Speed of the kernels other than products, in every variant that this machine runs:
//   ninja sequence_bench && tests/bench/kernels/sequence_bench --benchmark_filter=avx512
// Attention reports f32 operations a second (2 a product and key), the others bytes of their inputs a second.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/kernel_testing.h"
#include "kernels/kernels.h"

namespace inferd::kernels {
namespace {

struct AttentionShape {
  const char* name;
  PageShape shape;
  int32_t group;
  int64_t queries, position;
};

constexpr AttentionShape kAttentionShapes[] = {
    {"prefill512_64x4_f16", {CacheType::kF16, 1, 64, 64}, 4, 512, 0},
    {"prefill512_64x3_f16", {CacheType::kF16, 1, 64, 64}, 3, 512, 0},
    {"prefill512_128x4_f16", {CacheType::kF16, 1, 128, 128}, 4, 512, 0},
    {"prefill512_256x4_f16", {CacheType::kF16, 1, 256, 256}, 4, 512, 0},
    {"prefill256_at_8192_128x4_f16", {CacheType::kF16, 1, 128, 128}, 4, 256, 8192},
    {"prefill512_64x4_q8", {CacheType::kQ8_0, 1, 64, 64}, 4, 512, 0},
    {"decode512_64x4_f16", {CacheType::kF16, 1, 64, 64}, 4, 1, 511},
    {"decode512_64x3_f16", {CacheType::kF16, 1, 64, 64}, 3, 1, 511},
    {"decode8192_128x1_f16", {CacheType::kF16, 1, 128, 128}, 1, 1, 8191},
    {"decode8192_128x4_f16", {CacheType::kF16, 1, 128, 128}, 4, 1, 8191},
    {"decode8192_128x8_f16", {CacheType::kF16, 1, 128, 128}, 8, 1, 8191},
    {"decode8192_128x4_q8", {CacheType::kQ8_0, 1, 128, 128}, 4, 1, 8191},
};

void Attention(benchmark::State& state, const Kernels& kernels, const AttentionShape& s) {
  const int64_t keys = s.position + s.queries;
  const size_t page_bytes = kernels.page_bytes(s.shape);
  const std::vector<float> row = Random(1, static_cast<size_t>(s.shape.k_dim + s.shape.v_dim));
  std::vector<AlignedBytes> storage;
  std::vector<const void*> pages;
  for (int64_t first = 0; first < keys; first += kPageTokens) {
    AlignedBytes& page = storage.emplace_back(page_bytes);
    kernels.write_kv(s.shape, page.data(), 0, kPageTokens, row.data(), 0, row.data(), 0);
    pages.push_back(page.data());
  }
  const int64_t q_stride = static_cast<int64_t>(s.group) * s.shape.k_dim;
  const int64_t out_stride = static_cast<int64_t>(s.group) * s.shape.v_dim;
  const std::vector<float> q = Random(2, static_cast<size_t>(s.queries * q_stride));
  std::vector<float> out(static_cast<size_t>(s.queries * out_stride));
  AlignedBytes scratch(kernels.attention_scratch_bytes(s.shape, s.group, s.queries));
  for (auto _ : state) {
    kernels.attention({.shape = s.shape,
                       .pages = pages.data(),
                       .group = s.group,
                       .queries = s.queries,
                       .position = s.position,
                       .q = q.data(),
                       .q_stride = q_stride,
                       .out = out.data(),
                       .out_stride = out_stride,
                       .scale = 0.1f,
                       .scratch = scratch.data()});
    benchmark::DoNotOptimize(out.data());
  }
  const double seen = static_cast<double>(s.queries) * (static_cast<double>(s.position) + (s.queries + 1) / 2.0);
  const double operations = 2.0 * s.group * (s.shape.k_dim + s.shape.v_dim) * seen;
  state.counters["flops"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  const double bytes = static_cast<double>(page_bytes) / kPageTokens * static_cast<double>(keys);
  state.counters["cache_bytes"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

void WriteKv(benchmark::State& state, const Kernels& kernels, const PageShape& shape, int32_t tokens) {
  AlignedBytes page(kernels.page_bytes(shape));
  const int64_t stride = static_cast<int64_t>(shape.kv_heads) * shape.k_dim;
  const std::vector<float> rows = Random(1, static_cast<size_t>(tokens * stride));
  for (auto _ : state) {
    kernels.write_kv(shape, page.data(), 0, tokens, rows.data(), stride, rows.data(), stride);
    benchmark::DoNotOptimize(page.data());
  }
  state.SetItemsProcessed(state.iterations() * tokens);
}

// A kernel over rows of n floats.
template <class Run>
void Row(benchmark::State& state, int64_t n, const Run& run) {
  const std::vector<float> x = Random(1, static_cast<size_t>(n), 3.0f), weight = Random(2, static_cast<size_t>(n));
  std::vector<float> out(static_cast<size_t>(n));
  for (auto _ : state) {
    run(x.data(), weight.data(), n, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * n * static_cast<int64_t>(sizeof(float)));
}

void RegisterRows(const Kernels& k) {
  const auto add = [&k](const std::string& name, int64_t n, auto run) {
    benchmark::RegisterBenchmark((std::string(k.name) + "/" + name).c_str(),
                                 [=](benchmark::State& state) { Row(state, n, run); });
  };
  add("rms_norm_2048", 2048,
      [&k](const float* x, const float* w, int64_t n, float* out) { k.rms_norm(x, w, 1e-5f, n, out); });
  add("gate_silu_8192", 8192,
      [&k](const float* x, const float* w, int64_t n, float* out) { k.gate(Activation::kSilu, x, w, n, out); });
  add("gate_gelu_tanh_8192", 8192,
      [&k](const float* x, const float* w, int64_t n, float* out) { k.gate(Activation::kGeluTanh, x, w, n, out); });
  add("gate_gelu_erf_8192", 8192,
      [&k](const float* x, const float* w, int64_t n, float* out) { k.gate(Activation::kGeluErf, x, w, n, out); });
  add("softmax_4096", 4096, [&k](const float* x, const float*, int64_t n, float* out) { k.softmax(x, n, out); });
  add("argmax_262144", 262144,
      [&k](const float* x, const float*, int64_t n, float*) { benchmark::DoNotOptimize(k.argmax(x, n)); });
  add("log_sum_exp_262144", 262144,
      [&k](const float* x, const float*, int64_t n, float*) { benchmark::DoNotOptimize(k.log_sum_exp(x, n)); });
  add("top_40_of_262144", 262144, [&k](const float* x, const float*, int64_t n, float*) {
    TopEntry top[40];
    benchmark::DoNotOptimize(k.top_k(x, n, 40, top));
  });
  add("rope_halves_32x64", 32 * 64,
      [&k](const float* x, const float*, int64_t, float* out) { k.rope(out, 32, 64, 64, RopePairing::kHalves, x); });
  add("rope_neighbours_32x64", 32 * 64, [&k](const float* x, const float*, int64_t, float* out) {
    k.rope(out, 32, 64, 64, RopePairing::kNeighbours, x);
  });
  add("rope_table_64", 128, [&k](const float*, const float*, int64_t, float* out) {
    static const std::vector<double> frequencies(64, 0.77);
    k.rope_table(1000, frequencies.data(), 64, 1.0f, out);
  });
}

void DeltaRule(benchmark::State& state, const Kernels& kernels) {
  const std::vector<float> x = Random(1, 128 * 64, 0.05f);
  std::vector<float> memory(128 * 128), out(128 * 64), gate(64, -0.1f);
  for (auto _ : state) {
    kernels.delta_rule({.k_dim = 128,
                        .v_dim = 128,
                        .scale = 0.1f,
                        .state = memory.data(),
                        .tokens = 64,
                        .q = x.data(),
                        .k = x.data(),
                        .qk_stride = 128,
                        .v = x.data(),
                        .v_stride = 128,
                        .log_decay = gate.data(),
                        .beta = gate.data(),
                        .gate_stride = 1,
                        .out = out.data(),
                        .out_stride = 128});
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * 64);
}

void RegisterVariant(const Kernels& k) {
  const std::string prefix = std::string(k.name) + "/";
  for (const AttentionShape& shape : kAttentionShapes) {
    benchmark::RegisterBenchmark((prefix + "attention_" + shape.name).c_str(),
                                 [&k, shape](benchmark::State& state) { Attention(state, k, shape); });
  }
  for (const CacheType type : {CacheType::kF16, CacheType::kQ8_0}) {
    for (const int32_t tokens : {1, 64}) {
      const std::string name = prefix + "write_kv_8x64_" + (type == CacheType::kF16 ? "f16_" : "q8_");
      benchmark::RegisterBenchmark((name + std::to_string(tokens)).c_str(),
                                   [&k, type, tokens](benchmark::State& state) {
                                     WriteKv(state, k, {type, 8, 64, 64}, tokens);
                                   });
    }
  }
  benchmark::RegisterBenchmark((prefix + "delta_rule_128x128").c_str(),
                               [&k](benchmark::State& state) { DeltaRule(state, k); });
  RegisterRows(k);
}

}  // namespace
}  // namespace inferd::kernels

int main(int argc, char** argv) {
  for (const inferd::kernels::Kernels* kernels : inferd::kernels::RunnableVariants()) {
    inferd::kernels::RegisterVariant(*kernels);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
