// What is computed in blocks or from few candidates is what its definition says, bit for bit: the definitions here look
// at one token after the other, and at all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/sampling/filters.h"
#include "engine/sampling/sampler.h"

namespace inferd::sampling {
namespace {

const kernels::Kernels& kKernels = *kernels::SelectKernels("reference");

// Logits of several shapes: a few large ones and a crowd, nearly flat, equal ones, many banned.
std::vector<float> Logits(std::mt19937& random) {
  std::vector<float> logits(1 + random() % 5000);
  std::normal_distribution<float> crowd(0, 0.2f + static_cast<float>(random() % 40) / 8);
  for (float& logit : logits) logit = crowd(random);
  for (uint32_t i = random() % 30; i > 0; --i) logits[random() % logits.size()] += static_cast<float>(random() % 12);
  if (random() % 4 == 0) {
    for (float& logit : logits) logit = static_cast<float>(static_cast<int>(logit));
  }
  if (random() % 4 == 0) {
    for (float& logit : logits) logit = random() % 3 == 0 ? logit : kBannedLogit;
    logits[random() % logits.size()] = 1;
  }
  return logits;
}

// All tokens, from the best to the worst.
CandidateList Whole(std::span<const float> logits, double log_sum) {
  CandidateList list{.log_sum = log_sum};
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!IsBanned(logits[id])) list.entries.push_back({logits[id], static_cast<int32_t>(id)});
  }
  std::sort(list.entries.begin(), list.entries.end(), [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  });
  return list;
}

TEST(Definition, Mirostat) {
  std::mt19937 random(3);
  for (int round = 0; round < 80; ++round) {
    const uint64_t seed = static_cast<uint64_t>(round);
    const float tau = static_cast<float>(random() % 60) / 8;
    Sampler sampler({.mirostat = true, .mirostat_tau = tau, .mirostat_eta = 0.5f}, {}, {.seed = seed}, {}, kKernels);
    double bound = 2.0 * tau;
    for (uint64_t position = 0; position < 8; ++position) {
      std::vector<float> logits = Logits(random);
      CandidateList list{.log_sum = kKernels.log_sum_exp(logits.data(), static_cast<int64_t>(logits.size()))};
      const double least = std::max(list.log_sum - bound * 0x1.62e42fefa39efp-1, double{kBannedLogit} / 4);
      for (size_t id = 0; id < logits.size(); ++id) {
        if (logits[id] >= static_cast<float>(least)) list.entries.push_back({logits[id], static_cast<int32_t>(id)});
      }
      if (list.entries.empty()) list.entries = {Whole(logits, list.log_sum).entries.front()};
      Close(list, kKernels);
      double u = UniformAt({.seed = seed, .position = position});
      Candidate expected = list.entries.back();
      for (const Candidate& entry : list.entries) {
        u -= list.Probability(entry);
        if (u >= 0) continue;
        expected = entry;
        break;
      }
      ASSERT_EQ(sampler.Sample(logits), expected.id) << "round " << round;
      sampler.Accept(expected.id);
      bound -= 0.5f * (SurpriseBits(list, expected) - tau);
      ASSERT_EQ(sampler.surprise_bound(), bound);
    }
  }
}

TEST(Definition, FiltersOfAllTokens) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    const std::vector<float> logits = Logits(random);
    SamplingOptions options{.temperature = round % 2 == 0 ? 1 : 0.8f};
    if (round % 3 != 0) options.top_p = 0.1f + 0.1f * static_cast<float>(random() % 9);
    if (round % 3 != 1) options.min_p = 0.001f * static_cast<float>(1 + random() % 50);
    const double log_sum = kKernels.log_sum_exp(logits.data(), static_cast<int64_t>(logits.size()));
    CandidateList list = Whole(logits, log_sum);
    ASSERT_TRUE(KeepTopP(options.top_p, list, kKernels));
    ASSERT_TRUE(KeepMinP(options.min_p, list, kKernels));
    ApplyTemperature(options.temperature, list, kKernels);
    double u = UniformAt({.seed = static_cast<uint64_t>(round), .position = 0});
    int32_t expected = list.entries.back().id;
    for (const Candidate& entry : list.entries) {
      u -= list.Probability(entry);
      if (u >= 0) continue;
      expected = entry.id;
      break;
    }
    std::vector<float> scratch = logits;
    Sampler sampler(options, {}, {.seed = static_cast<uint64_t>(round)}, {}, kKernels);
    ASSERT_EQ(sampler.Sample(scratch), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace inferd::sampling
