// The same bits on every machine: hashes of results over fixed inputs, as written down once on x86-64 and checked here
// in every variant, also on ARM (tests/arm/run.sh). A changed hash means that models answer differently than before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernel_testing.h"

namespace inferd::kernels {
namespace {

// Floats in [-8, 8) from integers alone; most are near 0.
std::vector<float> Inputs(uint32_t seed, size_t n) {
  std::vector<float> values(n);
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    const float unit = static_cast<float>(static_cast<int32_t>(state) >> 8) * 0x1p-23f;
    value = unit * unit * unit * 8.0f;
  }
  return values;
}

// FNV-1a of the bytes.
uint64_t Hash(const std::vector<float>& values) {
  uint64_t hash = 14695981039346656037u;
  for (const float value : values) {
    unsigned char bytes[sizeof(float)];
    std::memcpy(bytes, &value, sizeof(float));
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  }
  return hash;
}

// 30 queries of 3 heads, the last of which sees `tokens` keys, or the `window` last ones of them.
std::vector<float> Attend(const Kernels& k, CacheType type, int32_t tokens = 100, int64_t window = 90) {
  const PageShape shape = {type, 2, 64, 96};
  const auto count = static_cast<size_t>(tokens);
  const std::vector<float> keys = Inputs(1, count * 128), values = Inputs(2, count * 192), q = Inputs(3, 30 * 3 * 64);
  std::vector<AlignedBytes> storage;
  std::vector<const void*> pages;
  for (int32_t first = 0; first < tokens; first += kPageTokens) {
    AlignedBytes& page = storage.emplace_back(k.page_bytes(shape));
    k.write_kv(shape, page.data(), 0, std::min(kPageTokens, tokens - first), keys.data() + first * 128, 128,
               values.data() + first * 192, 192);
    pages.push_back(page.data());
  }
  AlignedBytes scratch(k.attention_scratch_bytes(shape, 3, 30));
  std::vector<float> out(30 * 3 * 96);
  k.attention({.shape = shape,
               .pages = pages.data(),
               .kv_head = 1,
               .group = 3,
               .queries = 30,
               .position = tokens - 30,
               .window = window,
               .q = q.data(),
               .q_stride = 3 * 64,
               .out = out.data(),
               .out_stride = 3 * 96,
               .scale = 0.125f,
               .soft_cap = 50.0f,
               .scratch = scratch.data()});
  return out;
}

std::vector<float> Elementary(const Kernels& k) {
  std::vector<float> all;
  const std::vector<float> x = Inputs(4, 1003);
  for (int kind = 0; kind <= static_cast<int>(Activation::kGeluHalf); ++kind) {
    std::vector<float> y(x.size());
    k.activate(static_cast<Activation>(kind), x.data(), static_cast<int64_t>(x.size()), y.data());
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

std::vector<float> RowKernels(const Kernels& k) {
  const std::vector<float> x = Inputs(5, 1003), weight = Inputs(6, 1003);
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<float> rows(3 * x.size());
  k.rms_norm(x.data(), weight.data(), 1e-5f, n, rows.data());
  k.layer_norm(x.data(), weight.data(), x.data(), 1e-5f, n, rows.data() + n);
  k.softmax(x.data(), n, rows.data() + 2 * n);
  rows.push_back(k.log_sum_exp(x.data(), n));
  return rows;
}

std::vector<float> Angles(const Kernels& k) {
  std::vector<double> frequencies;
  for (int i = 0; i < 48; ++i) frequencies.push_back(exact::Pow(10000.0, -i / 48.0));
  std::vector<float> table(96);
  k.rope_table(54321, frequencies.data(), 48, 1.0f, table.data());
  std::vector<float> heads = Inputs(7, 4 * 100);
  k.rope(heads.data(), 4, 100, 96, RopePairing::kHalves, table.data());
  k.rope(heads.data(), 4, 100, 96, RopePairing::kNeighbours, table.data());
  table.insert(table.end(), heads.begin(), heads.end());
  return table;
}

std::vector<float> Delta(const Kernels& k) {
  const std::vector<float> x = Inputs(8, 20 * 80), gate = Inputs(9, 20);
  std::vector<float> state(64 * 80), out(20 * 80);
  k.delta_rule({.k_dim = 64,
                .v_dim = 80,
                .scale = 0.125f,
                .state = state.data(),
                .tokens = 20,
                .q = x.data(),
                .k = x.data(),
                .qk_stride = 80,
                .v = x.data(),
                .v_stride = 80,
                .log_decay = gate.data(),
                .beta = gate.data(),
                .gate_stride = 1,
                .out = out.data(),
                .out_stride = 80});
  return out;
}

struct Case {
  const char* name;
  std::vector<float> (*run)(const Kernels&);
  uint64_t hash;
};

class Fingerprint : public ::testing::TestWithParam<Case> {};

TEST_P(Fingerprint, IsTheSameOnEveryMachine) {
  for (const Kernels* kernels : RunnableVariants()) {
    EXPECT_EQ(Hash(GetParam().run(*kernels)), GetParam().hash) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Fingerprint,
    ::testing::Values(
        Case{"AttentionF32", [](const Kernels& k) { return Attend(k, CacheType::kF32); }, 0x3218b32d6ed57d5cu},
        Case{"AttentionF16", [](const Kernels& k) { return Attend(k, CacheType::kF16); }, 0x462f62ecdd786a22u},
        Case{"AttentionQ8", [](const Kernels& k) { return Attend(k, CacheType::kQ8_0); }, 0xa97cc2a738282721u},
        // As it was before keys were divided into spans: queries of up to 512 keys have one of them.
        Case{"AttentionOneSpan", [](const Kernels& k) { return Attend(k, CacheType::kF16, 512, 0); },
             0xb92f68f2ec6337e5u},
        Case{"AttentionSpans", [](const Kernels& k) { return Attend(k, CacheType::kF16, 1300, 0); },
             0x40ea89f1de9f118du},
        Case{"Elementary", Elementary, 0xf742e8c342d8e9c3u}, Case{"Rows", RowKernels, 0xd1b72df6cab6807bu},
        Case{"Angles", Angles, 0xde2e400b44955087u}, Case{"DeltaRule", Delta, 0x1ae855f5d55a4454u}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace inferd::kernels
