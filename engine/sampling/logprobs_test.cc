#include "engine/sampling/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inferd::sampling {
namespace {

TEST(Logprobs, AreThoseOfASoftmax) {
  const std::vector<float> logits = {1, 3, 2, 3};
  const double sum = std::log(std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0));
  const TokenLogprob entry = LogprobOf(logits, 2, 3, *kernels::SelectKernels("reference"));
  EXPECT_EQ(entry.token, 2);
  EXPECT_NEAR(entry.logprob, 2 - sum, 1e-6);
  ASSERT_EQ(entry.top.size(), 3u);
  EXPECT_EQ(entry.top[0].token, 1) << "of equal ones the smaller id first";
  EXPECT_EQ(entry.top[1].token, 3);
  EXPECT_EQ(entry.top[2].token, 2);
  EXPECT_NEAR(entry.top[0].logprob, 3 - sum, 1e-6);
}

TEST(Logprobs, NoMoreAlternativesThanTheVocabularyHas) {
  const std::vector<float> logits = {1, 3};
  EXPECT_EQ(LogprobOf(logits, 0, 20, *kernels::SelectKernels("reference")).top.size(), 2u);
  EXPECT_TRUE(LogprobOf(logits, 0, 0, *kernels::SelectKernels("reference")).top.empty());
}

}  // namespace
}  // namespace inferd::sampling
