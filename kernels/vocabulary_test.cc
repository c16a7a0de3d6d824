// argmax, top_k, log_sum_exp and all_finite of every variant, against plain calculations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/kernel_testing.h"

namespace inferd::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Rows of logits: lengths over every border of blocks, few distinct values (many ties), NaN and infinities.
std::vector<std::vector<float>> Rows() {
  std::vector<std::vector<float>> rows;
  for (const size_t n : {1, 2, 15, 16, 17, 63, 64, 65, 100, 1000, 4095, 4096, 4097, 20000, 262144}) {
    rows.push_back(Random(n, n, 5.0f));
    std::vector<float> ties = Random(n + 1, n, 2.0f);
    for (float& x : ties) x = std::round(x);
    rows.push_back(ties);
    std::vector<float> holes = ties;
    for (size_t i = 0; i < n; i += 3) holes[i] = kNan;
    rows.push_back(holes);
    rows.push_back(std::vector<float>(n, -kInfinity));
    rows.push_back(std::vector<float>(n, kNan));
    std::vector<float> last(n, -3.0f);
    last.back() = 4.0f;
    rows.push_back(last);
    std::vector<float> zeros(n, -0.0f);
    zeros[n / 2] = 0.0f;
    rows.push_back(zeros);
  }
  return rows;
}

std::vector<int32_t> Sorted(const std::vector<float>& x) {
  std::vector<int32_t> ids(x.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    const float left = x[static_cast<size_t>(a)], right = x[static_cast<size_t>(b)];
    if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
    return left > right;
  });
  return ids;
}

TEST(ArgMax, IsTheFirstOfTheSortedIdsUnlessAllAreNan) {
  for (const std::vector<float>& x : Rows()) {
    const int32_t first = Sorted(x)[0];
    const int32_t expected = std::isnan(x[static_cast<size_t>(first)]) ? -1 : first;
    for (const Kernels* kernels : RunnableVariants()) {
      ASSERT_EQ(kernels->argmax(x.data(), static_cast<int64_t>(x.size())), expected) << kernels->name << x.size();
    }
  }
}

TEST(TopK, AreTheFirstOfTheSortedIds) {
  for (const std::vector<float>& x : Rows()) {
    const std::vector<int32_t> ids = Sorted(x);
    for (const Kernels* kernels : RunnableVariants()) {
      for (const int32_t k : {1, 2, 7, 40, 1000}) {
        std::vector<TopEntry> top(static_cast<size_t>(k));
        const int32_t count = kernels->top_k(x.data(), static_cast<int64_t>(x.size()), k, top.data());
        ASSERT_EQ(count, std::min<int64_t>(k, static_cast<int64_t>(x.size())));
        for (int32_t i = 0; i < count; ++i) {
          const TopEntry& entry = top[static_cast<size_t>(i)];
          ASSERT_EQ(entry.id, ids[static_cast<size_t>(i)]) << kernels->name << ", entry " << i << " of " << x.size();
          ASSERT_EQ(std::memcmp(&entry.logit, &x[static_cast<size_t>(entry.id)], sizeof(float)), 0);
        }
      }
    }
  }
}

TEST(TopK, OfNothingIsNothing) {
  TopEntry entry;
  for (const Kernels* kernels : RunnableVariants()) {
    EXPECT_EQ(kernels->top_k(nullptr, 0, 5, &entry), 0);
    EXPECT_EQ(kernels->top_k(&entry.logit, 1, 0, &entry), 0);
  }
}

TEST(LogSumExp, MatchesDoublePrecision) {
  for (const size_t n : {1, 16, 17, 1000, 49152}) {
    const std::vector<float> x = Random(n, n, 5.0f);
    double sum = 0;
    for (const float value : x) sum += std::exp(static_cast<double>(value));
    for (const Kernels* kernels : RunnableVariants()) {
      EXPECT_NEAR(kernels->log_sum_exp(x.data(), static_cast<int64_t>(n)), std::log(sum), 2e-6) << kernels->name;
    }
  }
}

TEST(LogSumExp, IsTheSameInEveryVariant) {
  for (std::vector<float> x : Rows()) {
    const int64_t n = static_cast<int64_t>(x.size());
    for (const float last : {x.back(), kInfinity, kNan, 1e30f}) {
      x.back() = last;
      const float expected = SelectKernels("reference")->log_sum_exp(x.data(), n);
      for (const Kernels* kernels : RunnableVariants()) {
        const float value = kernels->log_sum_exp(x.data(), n);
        ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << kernels->name << n;
      }
    }
  }
}

TEST(LogSumExp, OfAwkwardRows) {
  const std::vector<std::pair<std::vector<float>, float>> cases = {
      {{-kInfinity, -kInfinity}, -kInfinity}, {{-kInfinity, 2.0f}, 2.0f}, {{1e38f, -1e38f}, 1e38f}};
  for (const Kernels* kernels : RunnableVariants()) {
    for (const auto& [x, expected] : cases) {
      EXPECT_EQ(kernels->log_sum_exp(x.data(), static_cast<int64_t>(x.size())), expected) << kernels->name;
    }
    const float infinite[] = {1.0f, kInfinity}, nan[] = {kNan, 1.0f};
    EXPECT_TRUE(std::isnan(kernels->log_sum_exp(infinite, 2)));
    EXPECT_TRUE(std::isnan(kernels->log_sum_exp(nan, 2)));
  }
}

TEST(AllFinite, FindsOneBadValueAnywhere) {
  for (const Kernels* kernels : RunnableVariants()) {
    for (const int64_t n : {1, 16, 17, 64, 100}) {
      std::vector<float> x(static_cast<size_t>(n), std::numeric_limits<float>::max());
      EXPECT_TRUE(kernels->all_finite(x.data(), n));
      for (float& value : x) {
        for (const float bad : {kInfinity, -kInfinity, kNan}) {
          value = bad;
          ASSERT_FALSE(kernels->all_finite(x.data(), n)) << kernels->name;
        }
        value = -std::numeric_limits<float>::max();
      }
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
