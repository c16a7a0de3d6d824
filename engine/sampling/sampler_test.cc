#include "engine/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace inferd::sampling {
namespace {

const kernels::Kernels& kKernels = *kernels::SelectKernels(nullptr);

// Logits that fall slowly enough for the first candidates to hold only a part of the probability.
std::vector<float> FlatLogits(size_t size) {
  std::vector<float> logits(size);
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

int32_t SampleOnce(const SamplingOptions& options, std::vector<float> logits, uint64_t seed) {
  Sampler sampler(options, {.seed = seed}, {}, kKernels);
  return sampler.Sample(logits);
}

// Probabilities after the filters by their definitions, over the whole sorted vocabulary.
std::vector<double> Defined(const SamplingOptions& options, const std::vector<float>& logits) {
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (options.top_k > 0) order.resize(std::min<size_t>(order.size(), options.top_k));
  std::vector<double> weight(logits.size(), 0);
  const auto normalize = [&](double temperature) {
    double sum = 0;
    for (int32_t id : order) sum += std::exp(logits[id] / temperature);
    std::fill(weight.begin(), weight.end(), 0);
    for (int32_t id : order) weight[id] = std::exp(logits[id] / temperature) / sum;
  };
  normalize(1);
  if (options.typical_p < 1) {
    double entropy = 0;
    for (int32_t id : order) entropy -= weight[id] * std::log(weight[id]);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return std::abs(-std::log(weight[a]) - entropy) < std::abs(-std::log(weight[b]) - entropy);
    });
    double sum = 0;
    size_t count = 0;
    while (sum < options.typical_p && count < order.size()) sum += weight[order[count++]];
    order.resize(count);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
    normalize(1);
  }
  if (options.top_p < 1) {
    double sum = 0;
    size_t count = 0;
    while (sum < options.top_p && count < order.size()) sum += weight[order[count++]];
    order.resize(count);
    normalize(1);
  }
  std::erase_if(order, [&](int32_t id) { return weight[id] < options.min_p * weight[order.front()]; });
  normalize(options.temperature);
  return weight;
}

TEST(Sampler, GreedyTakesTheLargestLogitAndTheSmallerIdOfEquals) {
  EXPECT_EQ(SampleOnce({.temperature = 0}, {1, 4, 4, 2}, 1), 1);
  // So small that logits divided by it would overflow.
  for (const float temperature : {1e-45f, 1e-40f, 1e-30f, 1e-6f}) {
    EXPECT_EQ(SampleOnce({.temperature = temperature}, {-9, -4, -8, -7}, 1), 1) << temperature;
  }
  EXPECT_EQ(SampleOnce({.temperature = 0, .logit_bias = {{0, 10.0f}}}, {1, 4, 4, 2}, 1), 0);
}

TEST(Sampler, DrawsFromTheDistributionThatTheFiltersDefine) {
  const std::vector<float> logits = FlatLogits(3000);
  const SamplingOptions cases[] = {
      {},
      {.temperature = 0.3f},
      {.temperature = 1.7f},
      {.temperature = 0.7f, .top_k = 20},
      {.top_p = 0.1f},
      {.top_p = 0.9f},
      {.min_p = 0.3f},
      {.min_p = 0.01f},
      {.typical_p = 0.1f},
      {.typical_p = 0.9f},
      {.temperature = 1.3f, .top_k = 500, .top_p = 0.8f, .min_p = 0.05f, .typical_p = 0.9f},
  };
  constexpr int kDraws = 2000, kBins = 20;
  for (const SamplingOptions& options : cases) {
    const std::vector<double> expected = Defined(options, logits);
    double bins[kBins] = {};
    for (size_t id = 0; id < expected.size(); ++id) bins[id % kBins] += expected[id] * kDraws;
    for (int draw = 0; draw < kDraws; ++draw) {
      const int32_t token = SampleOnce(options, logits, draw);
      ASSERT_GT(expected[token], 0) << "token " << token << " was filtered out";
      bins[token % kBins] -= 1;
    }
    for (int bin = 0; bin < kBins; ++bin) {
      double share = 0;
      for (size_t id = bin; id < expected.size(); id += kBins) share += expected[id];
      // Five standard deviations of a binomial count.
      EXPECT_NEAR(bins[bin], 0, 5 * std::sqrt(kDraws * share * (1 - share)) + 1e-9) << "bin " << bin;
    }
  }
}

TEST(Sampler, AChoiceAndAPositionHaveRandomNumbersOfTheirOwn) {
  const std::vector<float> logits = FlatLogits(1000);
  std::map<uint32_t, std::vector<int32_t>> outputs;
  for (uint32_t choice = 0; choice < 3; ++choice) {
    Sampler sampler({}, {.seed = 1, .choice = choice}, {}, kKernels);
    for (int i = 0; i < 20; ++i) {
      std::vector<float> row = logits;
      outputs[choice].push_back(sampler.Sample(row));
      sampler.Accept(outputs[choice].back());
    }
  }
  EXPECT_NE(outputs[0], outputs[1]);
  EXPECT_NE(outputs[1], outputs[2]);
  EXPECT_GT(std::set<int32_t>(outputs[0].begin(), outputs[0].end()).size(), 10u);
}

TEST(Sampler, EndOfGenerationIsBannedBeforeMinTokensOrAlways) {
  const int32_t end[] = {1};
  Sampler min_tokens({.temperature = 0}, {.min_tokens = 2}, end, kKernels);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> logits = {1, 5, 2};
    tokens.push_back(min_tokens.Sample(logits));
    min_tokens.Accept(tokens.back());
  }
  EXPECT_EQ(tokens, (std::vector<int32_t>{2, 2, 1}));
  Sampler ignore({.temperature = 0, .ignore_eos = true}, {}, end, kKernels);
  std::vector<float> logits = {1, 5, 2};
  EXPECT_EQ(ignore.Sample(logits), 2);
}

TEST(Sampler, NoTokenIsLeftWhereAllAreBanned) {
  for (float temperature : {0.0f, 1.0f}) {
    for (int32_t top_k : {0, 5}) {
      EXPECT_EQ(SampleOnce({.temperature = temperature, .top_k = top_k, .logit_bias = {{0, -100.0f}, {1, -100.0f}}},
                           {1, 2}, 1),
                kNoToken);
    }
  }
}

TEST(Sampler, MaskedTokensAreNeverDrawnFromTheTail) {
  std::vector<float> logits = FlatLogits(9000);
  for (size_t id = 0; id < logits.size(); ++id) {
    if (id % 13 != 0 || (id >= 4096 && id < 8192)) logits[id] = kBannedLogit;
  }
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const int32_t token = SampleOnce({}, logits, seed);
    ASSERT_EQ(token % 13, 0);
    ASSERT_TRUE(token < 4096 || token >= 8192);
  }
}

TEST(Sampler, PenaltiesSeeTheTokensAccepted) {
  Sampler sampler({.temperature = 0, .presence_penalty = 2, .repeat_penalty = 1.5f}, {}, {}, kKernels);
  const int32_t prompt[] = {0};
  sampler.AcceptPrompt(prompt);
  std::vector<float> logits = {6, 5, 4};  // 0 falls to 4 (repeat), so 1 is next
  EXPECT_EQ(sampler.Sample(logits), 1);
  sampler.Accept(1);
  logits = {6, 5, 4.5f};  // 0: 4, 1: 5 / 1.5 - 2
  EXPECT_EQ(sampler.Sample(logits), 2);
}

}  // namespace
}  // namespace inferd::sampling
