#include "engine/sampling/penalties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/sampling/sampling_options.h"

namespace inferd::sampling {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(TokenWindow, CountsTheLastTokensOnly) {
  TokenWindow window(3);
  for (int32_t token : {5, 6, 5, 5}) window.Push(token);
  EXPECT_THAT(window.counts(), UnorderedElementsAre(Pair(5, 2), Pair(6, 1)));
  window.Push(7);
  EXPECT_THAT(window.counts(), UnorderedElementsAre(Pair(5, 2), Pair(7, 1)));
}

TEST(TokenWindow, SizeZeroCountsNothingAndMinusOneAll) {
  TokenWindow none(0), all(-1);
  for (int i = 0; i < 1000; ++i) none.Push(1), all.Push(1);
  EXPECT_TRUE(none.counts().empty());
  EXPECT_THAT(all.counts(), ElementsAre(Pair(1, 1000)));
}

TEST(Penalties, RepeatDividesPositiveLogitsAndMultipliesNegativeOnes) {
  TokenWindow window(-1);
  for (int32_t token : {0, 1, 1}) window.Push(token);
  std::vector<float> logits = {3, -3, 3};
  ApplyRepeatPenalty(window, 1.5f, logits);
  EXPECT_THAT(logits, ElementsAre(2, -4.5f, 3));
}

TEST(Penalties, PresenceCountsOnceAndFrequencyEachTime) {
  TokenWindow window(-1);
  for (int32_t token : {0, 1, 1}) window.Push(token);
  std::vector<float> logits = {3, 3, 3};
  ApplyCountPenalties(window, 0.5f, 0.25f, logits);
  EXPECT_THAT(logits, ElementsAre(2.25f, 2, 3));
}

TEST(Penalties, BiasIsAddedAndMinusHundredBans) {
  std::vector<float> logits = {1, 1, 1};
  const std::pair<int32_t, float> biases[] = {{0, 2.5f}, {2, -100}};
  ApplyBias(biases, logits);
  EXPECT_THAT(logits, ElementsAre(3.5f, 1, kBannedLogit));
}

TEST(Penalties, ABannedTokenStaysBanned) {
  TokenWindow window(-1);
  window.Push(0);
  std::vector<float> logits = {kBannedLogit};
  ApplyRepeatPenalty(window, 0.001f, logits);
  ApplyCountPenalties(window, -2, -2, logits);
  EXPECT_THAT(logits, ElementsAre(kBannedLogit));
}

}  // namespace
}  // namespace inferd::sampling
