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
  Sampler sampler(options, {}, {.seed = seed}, {}, kKernels);
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
    Sampler sampler({}, {}, {.seed = 1, .choice = choice}, {}, kKernels);
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
  Sampler min_tokens({.temperature = 0}, {}, {.min_tokens = 2}, end, kKernels);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> logits = {1, 5, 2};
    tokens.push_back(min_tokens.Sample(logits));
    min_tokens.Accept(tokens.back());
  }
  EXPECT_EQ(tokens, (std::vector<int32_t>{2, 2, 1}));
  Sampler ignore({.temperature = 0, .ignore_eos = true}, {}, {}, end, kKernels);
  std::vector<float> logits = {1, 5, 2};
  EXPECT_EQ(ignore.Sample(logits), 2);
}

TEST(Sampler, NoTokenIsLeftWhereAllAreBanned) {
  for (float temperature : {0.0f, 0.5f, 1.0f, 2.0f}) {
    for (int32_t top_k : {0, 5}) {
      EXPECT_EQ(SampleOnce({.temperature = temperature, .top_k = top_k, .logit_bias = {{0, -100.0f}, {1, -100.0f}}},
                           {1, 2}, 1),
                kNoToken);
    }
  }
}

TEST(Sampler, ATemperatureThatRaisesLogitsRaisesNoBannedOne) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(SampleOnce({.temperature = 2, .logit_bias = {{1, -100.0f}}}, {1, 9}, seed), 0);
    EXPECT_EQ(
        SampleOnce({.temperature = 2, .logit_bias = {{0, -100.0f}, {1, -100.0f}}, .mirostat = true}, {1, 9}, seed),
        kNoToken);
  }
}

TEST(Sampler, XtcLeavesTheLeastOfTheProbable) {
  // Probabilities 0.644, 0.237, 0.087, 0.032.
  const std::vector<float> logits = {3, 2, 1, 0};
  for (const SamplingOptions& options :
       {SamplingOptions{.xtc_probability = 1, .xtc_threshold = 0.2f},
        SamplingOptions{.min_p = 0.01f, .xtc_probability = 1, .xtc_threshold = 0.2f}}) {
    std::set<int32_t> drawn;
    for (uint64_t seed = 0; seed < 300; ++seed) drawn.insert(SampleOnce(options, logits, seed));
    EXPECT_EQ(drawn, (std::set<int32_t>{1, 2, 3}));
  }
  int without_best = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    without_best += SampleOnce({.top_k = 2, .xtc_probability = 0.25f, .xtc_threshold = 0.2f}, logits, seed) == 1;
  }
  // 1 in a quarter of the draws, and in 0.269 of the others; five standard deviations.
  EXPECT_NEAR(without_best, 4000 * (0.25 + 0.75 * 0.2689), 5 * std::sqrt(4000 * 0.452 * 0.548));
  EXPECT_EQ(SampleOnce({.temperature = 0, .xtc_probability = 1, .xtc_threshold = 0}, logits, 1), 0) << "greedy";
  EXPECT_EQ(SampleOnce({.xtc_probability = 1, .xtc_threshold = 0}, logits, 1), 3);
}

// mu after each token, computed in Python after llama.cpp's sampler: tau 1.5, eta 0.5, from 2 tau.
TEST(Sampler, MirostatKeepsTheSurpriseNearItsTarget) {
  const std::vector<float> fixed = {3, 2, 1, 0, -1};
  Sampler sampler({.mirostat = true, .mirostat_tau = 1.5f, .mirostat_eta = 0.5f}, {}, {}, {}, kKernels);
  EXPECT_EQ(sampler.surprise_bound(), 3);
  const std::pair<int32_t, double> steps[] = {{0, 3.524029458}, {1, 3.326711396}, {1, 3.129393334}};
  for (const auto& [token, bound] : steps) {
    std::vector<float> logits = fixed;
    sampler.Recall(logits, token);
    sampler.Accept(token);
    EXPECT_NEAR(sampler.surprise_bound(), bound, 1e-5);
  }
}

TEST(Sampler, MirostatDrawsOnlyWhatIsNotTooSurprising) {
  std::vector<float> logits = FlatLogits(3000);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const int32_t token = SampleOnce({.temperature = 0.7f, .mirostat = true, .mirostat_tau = 4.5f}, logits, seed);
    double sum = 0;
    for (float logit : logits) sum += std::exp(logit / 0.7);
    ASSERT_LE(std::log2(sum) - std::log2(std::exp(logits[token] / 0.7)), 9.0001);
  }
}

TEST(Sampler, ATokenThatIsRecalledLeavesTheSamplerAsADrawDoes) {
  const SamplingOptions options{.temperature = 0.8f, .repeat_penalty = 1.3f, .mirostat = true, .mirostat_tau = 3};
  Sampler drawing(options, {}, {.seed = 4}, {}, kKernels), recalling(options, {}, {.seed = 4}, {}, kKernels);
  for (int step = 0; step < 30; ++step) {
    std::vector<float> logits = FlatLogits(1000), again = logits;
    const int32_t token = drawing.Sample(logits);
    recalling.Recall(again, token);
    drawing.Accept(token);
    recalling.Accept(token);
    ASSERT_EQ(drawing.surprise_bound(), recalling.surprise_bound());
  }
  EXPECT_NE(drawing.surprise_bound(), 6);
}

TEST(Sampler, MaskedTokensAreNeverDrawn) {
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
  Sampler sampler({.temperature = 0, .presence_penalty = 2, .repeat_penalty = 1.5f}, {}, {}, {}, kKernels);
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
