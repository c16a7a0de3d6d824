#include "engine/generation/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

TEST(Histogram, ABoundBelongsToItsBucketAndTheRestToTheLast) {
  constexpr double kBounds[] = {1, 2};
  Histogram histogram(kBounds);
  for (double value : {0.5, 1.0, 1.5, 2.0, 7.0, 8.0}) histogram.Add(value);
  EXPECT_THAT(histogram.counts, testing::ElementsAre(2, 2, 2));
  EXPECT_DOUBLE_EQ(histogram.sum, 20);
}

}  // namespace
}  // namespace inferd::engine
