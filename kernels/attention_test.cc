// Attention of every variant: the reference against double precision, the others against the reference with ==.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/attention_testing.h"

namespace inferd::kernels {
namespace {

constexpr CacheType kTypes[] = {CacheType::kF32, CacheType::kF16, CacheType::kQ8_0};

std::vector<AttentionCase> Cases() {
  std::vector<AttentionCase> cases;
  for (const CacheType type : kTypes) {
    // Lengths over page borders.
    for (const int64_t position : {0, 1, 15, 62, 63, 64, 65, 127, 128, 200}) {
      cases.push_back({.shape = {type, 2, 64, 64}, .group = 3, .position = position});
    }
    // Groups, and blocks of queries that end in the middle of tiles.
    for (const int32_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}) {
      cases.push_back({.shape = {type, 1, 32, 32}, .group = group, .queries = 1, .position = 70});
      cases.push_back({.shape = {type, 1, 32, 32}, .group = group, .queries = 7, .position = 60});
    }
    for (const int64_t queries : {2, 5, 33, 64, 100}) {
      cases.push_back({.shape = {type, 1, 64, 64}, .group = 2, .queries = queries, .position = 30});
    }
    // What else a model may ask for.
    const PageShape shape = {type, 2, 64, 32};
    for (const int64_t queries : {1, 40}) {
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 90, .window = 1});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 90, .window = 20});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 150, .window = 70});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 130, .first_key = 128});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 100, .first_key = 70});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .bidirectional_end = 100});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .window = 30, .bidirectional_end = 100});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 70, .soft_cap = 5.0f});
      cases.push_back({.shape = shape, .group = 5, .queries = queries, .position = 70, .alibi = true});
      cases.push_back({.shape = shape, .group = 5, .queries = queries, .position = 70, .sinks = true});
      cases.push_back({.shape = shape,
                       .group = 4,
                       .queries = queries,
                       .position = 100,
                       .window = 50,
                       .soft_cap = 3.0f,
                       .alibi = true,
                       .sinks = true});
    }
  }
  // Head sizes; q8_0 takes multiples of 32 only.
  for (const int32_t dim : {1, 5, 15, 16, 17, 33, 48, 64, 80, 96, 100, 112, 128, 192, 256}) {
    for (const CacheType type : kTypes) {
      if (type == CacheType::kQ8_0 && dim % 32 != 0) continue;
      cases.push_back({.shape = {type, 2, dim, dim}, .group = 2, .queries = 1, .position = 66});
      cases.push_back({.shape = {type, 2, dim, dim}, .group = 3, .queries = 3, .position = 63});
    }
  }
  cases.push_back({.shape = {CacheType::kF16, 1, 192, 128}, .group = 4, .queries = 9, .position = 70});
  // Scores so far apart that weights vanish or become subnormal, and values that are subnormal themselves.
  cases.push_back({.shape = {CacheType::kF32, 1, 64, 64}, .group = 2, .queries = 5, .position = 90, .magnitude = 20});
  cases.push_back({.shape = {CacheType::kF32, 1, 64, 64}, .group = 2, .position = 90, .magnitude = 1e-39f});
  cases.push_back({.shape = {CacheType::kF16, 1, 64, 64}, .group = 2, .position = 90, .magnitude = 1e-6f});
  return cases;
}

// Spans of 512 keys: their borders, what moves over them, and many of them.
std::vector<AttentionCase> SpanCases() {
  std::vector<AttentionCase> cases;
  for (const CacheType type : kTypes) {
    for (const int64_t keys : {511, 512, 513, 1025, 4096}) {
      cases.push_back({.shape = {type, 1, 32, 32}, .group = 3, .position = keys - 1});
    }
    const PageShape shape = {type, 1, 32, 64};
    for (const int64_t queries : {1, 40}) {
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 500});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 1023, .sinks = true});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 1000, .window = 100, .sinks = true});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 1060, .window = 530, .sinks = true});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 700, .first_key = 480});
      cases.push_back({.shape = shape, .group = 2, .queries = queries, .position = 480, .bidirectional_end = 1100});
      cases.push_back(
          {.shape = shape, .group = 2, .queries = queries, .position = 490, .window = 60, .bidirectional_end = 1100});
      cases.push_back({.shape = shape,
                       .group = 5,
                       .queries = queries,
                       .position = 1100,
                       .soft_cap = 3.0f,
                       .alibi = true,
                       .sinks = true});
    }
  }
  cases.push_back({.shape = {CacheType::kF32, 1, 64, 64}, .group = 2, .position = 1500, .magnitude = 20});
  cases.push_back({.shape = {CacheType::kF16, 1, 33, 17}, .group = 2, .queries = 5, .position = 1500});
  return cases;
}

class Attention : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Attention, ReferenceIsCloseToDoublePrecision) {
  AttentionProblem problem(GetParam());
  const std::vector<float> out = problem.Run(*SelectKernels("reference"));
  const std::vector<double> expected = problem.Expected();
  // Rounding of scores of size |q||k| scale ~ magnitude^2 * 4 shifts weights by that relative amount.
  const double magnitude = GetParam().magnitude;
  const double tolerance = (1 + magnitude * magnitude) * 4e-6 * magnitude + 0x1p-148;
  ASSERT_EQ(out.size(), expected.size());
  for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], tolerance) << i;
}

TEST_P(Attention, EveryVariantGivesTheReferencesBits) {
  AttentionProblem problem(GetParam());
  const std::vector<float> expected = problem.Run(*SelectKernels("reference"));
  for (const Kernels* kernels : RunnableVariants()) {
    const std::vector<float> out = problem.Run(*kernels);
    ASSERT_EQ(out, expected) << kernels->name;
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0) << kernels->name;
  }
}

TEST_P(Attention, SpansApartGiveTheSameBits) {
  AttentionProblem problem(GetParam());
  const std::vector<float> expected = problem.Run(*SelectKernels("reference"));
  for (const Kernels* kernels : RunnableVariants()) {
    const std::vector<float> out = problem.RunSpans(*kernels);
    ASSERT_EQ(out, expected) << kernels->name;
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0) << kernels->name;
  }
}

TEST_P(Attention, EachQueryIsTheSameAlone) {
  AttentionProblem problem(GetParam());
  for (const Kernels* kernels : RunnableVariants()) {
    const std::vector<float> together = problem.Run(*kernels);
    const int64_t queries = GetParam().queries;
    const int64_t step = queries / 3 + 1;  // and in parts
    std::vector<float> parts;
    for (int64_t first = 0; first < queries; first += step) {
      const std::vector<float> part = problem.RunPart(*kernels, first, std::min(step, queries - first));
      parts.insert(parts.end(), part.begin(), part.end());
    }
    ASSERT_EQ(parts, together) << kernels->name;
    const std::vector<float> last = problem.RunPart(*kernels, queries - 1, 1);
    ASSERT_TRUE(std::equal(last.rbegin(), last.rend(), together.rbegin())) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Spans, Attention, ::testing::ValuesIn(SpanCases()),
                         [](const auto& info) { return std::to_string(info.index) + "_" + info.param.Name(); });
INSTANTIATE_TEST_SUITE_P(All, Attention, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::to_string(info.index) + "_" + info.param.Name(); });

class WriteKv : public ::testing::TestWithParam<CacheType> {};

// 64 tokens at once, in pieces of every size, and in every variant: the same page.
TEST_P(WriteKv, DoesNotDependOnTheNumberOfTokensOrTheVariant) {
  const PageShape shape = {GetParam(), 3, 96, 32};
  const Kernels& reference = *SelectKernels("reference");
  const size_t bytes = reference.page_bytes(shape);
  const int64_t k_stride = 3 * 96 + 5, v_stride = 3 * 32 + 7;
  const std::vector<float> k = Awkward(1, static_cast<size_t>(64 * k_stride));
  const std::vector<float> v = Awkward(2, static_cast<size_t>(64 * v_stride));
  AlignedBytes expected(bytes);
  reference.write_kv(shape, expected.data(), 0, 64, k.data(), k_stride, v.data(), v_stride);
  for (const Kernels* kernels : RunnableVariants()) {
    ASSERT_EQ(kernels->page_bytes(shape), bytes);
    for (int32_t step = 1; step <= 64; ++step) {
      AlignedBytes page(bytes);
      for (int32_t slot = 0; slot < 64; slot += step) {
        kernels->write_kv(shape, page.data(), slot, std::min(step, 64 - slot), k.data() + slot * k_stride, k_stride,
                          v.data() + slot * v_stride, v_stride);
      }
      ASSERT_EQ(std::memcmp(page.data(), expected.data(), bytes), 0) << kernels->name << " in steps of " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WriteKv, ::testing::ValuesIn(kTypes));

TEST(WriteKvQ8, RoundsToTheNearestOf255Steps) {
  const PageShape shape = {CacheType::kQ8_0, 1, 32, 32};
  std::vector<float> row(32);
  for (int i = 0; i < 32; ++i) row[static_cast<size_t>(i)] = static_cast<float>(i) * 0.26f - 4.0f;
  row[31] = -12.7f;  // the scale is 0.1, as f16 0.0999755859375
  for (const Kernels* kernels : RunnableVariants()) {
    AlignedBytes page(kernels->page_bytes(shape));
    kernels->write_kv(shape, page.data(), 5, 1, row.data(), 32, row.data(), 32);
    const int8_t* k = reinterpret_cast<const int8_t*>(page.data());
    const int8_t* v = k + 32 * 64;
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(k[i * 64 + 5], std::lround(row[static_cast<size_t>(i)] * 10.0)) << i;
      EXPECT_EQ(v[5 * 32 + i], k[i * 64 + 5]) << i;
    }
    uint16_t scale;
    std::memcpy(&scale, k + 2 * 32 * 64 + 2 * 5, 2);
    EXPECT_EQ(scale, 0x2E66);
  }
}

}  // namespace
}  // namespace inferd::kernels
