// Expert routing in every variant, with values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernel_testing.h"

namespace inferd::kernels {
namespace {

struct Choice {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

Choice Route(const Kernels& kernels, RouterArguments a, const std::vector<float>& logits) {
  Choice choice{std::vector<int32_t>(static_cast<size_t>(a.chosen)), std::vector<float>(static_cast<size_t>(a.chosen))};
  a.experts = static_cast<int32_t>(logits.size());
  a.logits = logits.data();
  a.ids = choice.ids.data();
  a.weights = choice.weights.data();
  kernels.route(a);
  return choice;
}

void ExpectChoice(const Choice& choice, const std::vector<int32_t>& ids, const std::vector<double>& weights) {
  EXPECT_EQ(choice.ids, ids);
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(choice.weights[i], weights[i], 1e-6) << i;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Router : public ::testing::TestWithParam<const Kernels*> {};

// exp(logits) = 1, 4, 2, 1: softmax 1/8, 1/2, 1/4, 1/8.
const std::vector<float> kLogits = {0.0f, 2 * static_cast<float>(M_LN2), static_cast<float>(M_LN2), 0.0f};

TEST_P(Router, SoftmaxOfAllExperts) {
  const Choice choice = Route(*GetParam(), {.score = RouterScore::kSoftmax, .chosen = 3, .scale = 2.0f}, kLogits);
  ExpectChoice(choice, {1, 2, 0}, {1.0, 0.5, 0.25});
}

TEST_P(Router, NormalizedWeightsSumToTheScale) {
  const Choice choice =
      Route(*GetParam(), {.score = RouterScore::kSoftmax, .chosen = 2, .normalize = true, .scale = 1.0f}, kLogits);
  ExpectChoice(choice, {1, 2}, {2.0 / 3, 1.0 / 3});
}

TEST_P(Router, SoftmaxOverTheChosenAlone) {
  const Choice choice =
      Route(*GetParam(), {.score = RouterScore::kSoftmaxOfChosen, .chosen = 2, .scale = 1.0f}, kLogits);
  ExpectChoice(choice, {1, 2}, {2.0 / 3, 1.0 / 3});
}

TEST_P(Router, BiasChoosesButDoesNotWeigh) {
  const float bias[] = {0.0f, -1.0f, 0.0f, 0.5f};
  const Choice choice =
      Route(*GetParam(), {.score = RouterScore::kSigmoid, .chosen = 2, .selection_bias = bias, .scale = 1.0f}, kLogits);
  ExpectChoice(choice, {3, 2}, {0.5, Sigmoid(M_LN2)});
}

TEST_P(Router, OnlyTheBestGroupsTakePart) {
  // Groups {3, -9}, {2, 2}, {1, 1}: expert 0 is the best, but its group's two best sum to less than the others'.
  const Choice choice =
      Route(*GetParam(), {.score = RouterScore::kSigmoid, .chosen = 3, .groups = 3, .groups_used = 2, .scale = 1.0f},
            {3.0f, -9.0f, 2.0f, 2.0f, 1.0f, 1.0f});
  ExpectChoice(choice, {2, 3, 4}, {Sigmoid(2), Sigmoid(2), Sigmoid(1)});
}

TEST_P(Router, TinySumsAreHeldAtTheirFloor) {
  const Choice choice =
      Route(*GetParam(), {.score = RouterScore::kSigmoid, .chosen = 1, .normalize = true, .scale = 1.0f}, {-20.0f});
  ExpectChoice(choice, {0}, {Sigmoid(-20) * 0x1p14});
}

TEST_P(Router, NanIsChosenLastAndIdsStayValid) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Choice choice =
      Route(*GetParam(), {.score = RouterScore::kSigmoid, .chosen = 3, .scale = 1.0f}, {nan, 1.0f, 2.0f});
  EXPECT_EQ(choice.ids, (std::vector<int32_t>{2, 1, 0}));
  const Choice all =
      Route(*GetParam(), {.score = RouterScore::kSoftmax, .chosen = 2, .groups = 2, .groups_used = 1, .scale = 1.0f},
            {nan, nan, nan, nan});
  for (const int32_t id : all.ids) EXPECT_TRUE(id >= 0 && id < 4);
}

TEST_P(Router, RandomLogitsGiveTheReferencesBits) {
  for (const int32_t experts : {8, 60, 64, 128, 512}) {
    const std::vector<float> logits = Random(static_cast<uint64_t>(experts), static_cast<size_t>(experts), 2.0f);
    const std::vector<float> bias = Random(7, static_cast<size_t>(experts), 0.1f);
    for (const RouterScore score : {RouterScore::kSoftmax, RouterScore::kSigmoid, RouterScore::kSoftmaxOfChosen}) {
      for (const int32_t groups : {0, 4}) {
        const RouterArguments a = {.score = score,
                                   .chosen = 8,
                                   .selection_bias = bias.data(),
                                   .groups = groups,
                                   .groups_used = 2,
                                   .normalize = true,
                                   .scale = 2.5f};
        const Choice expected = Route(*SelectKernels("reference"), a, logits);
        const Choice choice = Route(*GetParam(), a, logits);
        EXPECT_EQ(choice.ids, expected.ids);
        EXPECT_EQ(choice.weights, expected.weights);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Router, ::testing::ValuesIn(RunnableVariants()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace inferd::kernels
