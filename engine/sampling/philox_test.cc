#include "engine/sampling/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace inferd::sampling {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers published with the paper's code (Random123, kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryPartOfThePointChangesTheNumber) {
  const RandomPoint base{.seed = 1, .position = 2, .choice = 3};
  std::set<double> values{UniformAt(base)};
  values.insert(UniformAt({.seed = 2, .position = 2, .choice = 3}));
  values.insert(UniformAt({.seed = uint64_t{1} << 40 | 1, .position = 2, .choice = 3}));
  values.insert(UniformAt({.seed = 1, .position = 3, .choice = 3}));
  values.insert(UniformAt({.seed = 1, .position = uint64_t{1} << 40 | 2, .choice = 3}));
  values.insert(UniformAt({.seed = 1, .position = 2, .choice = 4}));
  values.insert(UniformAt({.seed = 1, .position = 2, .choice = 3, .stream = RandomStream::kExcludeTop}));
  EXPECT_EQ(values.size(), 7u);
}

TEST(Philox, UniformNumbersFillTheUnitInterval) {
  int buckets[10] = {};
  for (uint64_t position = 0; position < 10000; ++position) {
    const double u = UniformAt({.seed = 7, .position = position});
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++buckets[static_cast<int>(u * 10)];
  }
  // Five standard deviations of a binomial count (n = 10000, p = 0.1) are 150.
  for (int count : buckets) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace inferd::sampling
