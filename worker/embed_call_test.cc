#include "worker/embed_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::worker {
namespace {

using testing::ElementsAre;

TEST(FinishVector, NormalizesWhatIsLeftAfterTheCut) {
  std::vector<float> vector = {3, 4, 12};
  FinishVector(vector, 2, true);
  EXPECT_THAT(vector, ElementsAre(0.6f, 0.8f));
}

TEST(FinishVector, LeavesAZeroVectorAndAnUnnormalizedOne) {
  std::vector<float> zero = {0, 0};
  FinishVector(zero, 0, true);
  EXPECT_THAT(zero, ElementsAre(0, 0));
  std::vector<float> plain = {3, 4};
  FinishVector(plain, 0, false);
  EXPECT_THAT(plain, ElementsAre(3, 4));
}

TEST(Probability, IsTheLogisticFunction) {
  EXPECT_EQ(Probability(0), 0.5f);
  EXPECT_FLOAT_EQ(Probability(2), 0.8807971f);  // 1 / (1 + e^-2)
  EXPECT_FLOAT_EQ(Probability(-2), 0.11920292f);
  EXPECT_EQ(Probability(1000), 1);
  EXPECT_EQ(Probability(-1000), 0);
}

}  // namespace
}  // namespace inferd::worker
