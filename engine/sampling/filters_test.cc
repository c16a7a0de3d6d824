#include "engine/sampling/filters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/sampling/sampling_options.h"

namespace inferd::sampling {
namespace {

using testing::ElementsAre;

const kernels::Kernels& kKernels = *kernels::SelectKernels("reference");

// Candidates 0, 1, 2, ... with these probabilities (descending).
CandidateList List(const std::vector<double>& probabilities, bool open = false) {
  CandidateList list{.open = open};
  for (size_t i = 0; i < probabilities.size(); ++i) {
    list.entries.push_back({static_cast<float>(std::log(probabilities[i])), static_cast<int32_t>(i)});
  }
  return list;  // log_sum 0: the probabilities are as given
}

std::vector<int32_t> Ids(const CandidateList& list) {
  std::vector<int32_t> ids;
  for (const Candidate& entry : list.entries) ids.push_back(entry.id);
  return ids;
}

TEST(TopP, KeepsTheSmallestSetThatReachesP) {
  CandidateList list = List({0.5, 0.3, 0.15, 0.05});
  EXPECT_TRUE(KeepTopP(0.75f, list, kKernels));
  EXPECT_THAT(Ids(list), ElementsAre(0, 1));
  EXPECT_NEAR(list.Probability(list.entries[0]), 0.5 / 0.8, 1e-6);
}

TEST(TopP, KeepsTheBestEvenForATinyP) {
  CandidateList list = List({0.5, 0.5});
  EXPECT_TRUE(KeepTopP(1e-9f, list, kKernels));
  EXPECT_THAT(Ids(list), ElementsAre(0));
}

TEST(TopP, IsUndecidedWhereAnOpenListDoesNotReachP) {
  CandidateList list = List({0.5, 0.2}, /*open=*/true);
  EXPECT_FALSE(KeepTopP(0.75f, list, kKernels));
  EXPECT_EQ(list.entries.size(), 2u);
  EXPECT_TRUE(KeepTopP(0.65f, list, kKernels));
  EXPECT_FALSE(list.open);
}

TEST(MinP, KeepsWhatIsNearTheBest) {
  CandidateList list = List({0.5, 0.3, 0.15, 0.05});
  EXPECT_TRUE(KeepMinP(0.25f, list, kKernels));
  EXPECT_THAT(Ids(list), ElementsAre(0, 1, 2));
}

TEST(MinP, IsUndecidedWhereTheLastOfAnOpenListIsKept) {
  CandidateList list = List({0.5, 0.3}, /*open=*/true);
  EXPECT_FALSE(KeepMinP(0.25f, list, kKernels));
  EXPECT_TRUE(KeepMinP(0.9f, list, kKernels));
  EXPECT_THAT(Ids(list), ElementsAre(0));
}

TEST(Typical, KeepsTheTokensNearestToTheEntropy) {
  // Surprises 0.511, 2.303, 2.303, 2.303, 2.303; entropy 1.228: nearest is token 0 (0.717), then the others (1.075).
  CandidateList list = List({0.6, 0.1, 0.1, 0.1, 0.1});
  EXPECT_NEAR(Entropy(list), 1.2275, 1e-3);
  EXPECT_TRUE(KeepTypical(0.65f, Entropy(list), list, kKernels));
  EXPECT_THAT(Ids(list), ElementsAre(0, 1));
}

TEST(Typical, CanDropTheMostProbableToken) {
  // Entropy 1.37; surprises 0.693, then 1.897 (0.15) twice and 2.303 (0.1) twice: 0.15 is nearest (0.527).
  CandidateList list = List({0.5, 0.15, 0.15, 0.1, 0.1});
  EXPECT_TRUE(KeepTypical(0.25f, Entropy(list), list, kKernels));
  EXPECT_THAT(Ids(list), ElementsAre(1, 2));
}

TEST(Typical, AnOpenListDecidesOnlyWhatNothingBeyondItCanBeat) {
  const double entropy = 1.4;
  CandidateList decided = List({0.5, 0.15, 0.15, 0.1, 0.02}, /*open=*/true);
  EXPECT_TRUE(KeepTypical(0.25f, entropy, decided, kKernels));
  EXPECT_THAT(Ids(decided), ElementsAre(1, 2));
  CandidateList undecided = List({0.5, 0.15}, /*open=*/true);
  EXPECT_FALSE(KeepTypical(0.25f, entropy, undecided, kKernels));
}

TEST(Xtc, ExcludesAllButTheLastOfThoseThatReachTheThreshold) {
  const CandidateList list = List({0.5, 0.3, 0.15, 0.05});
  EXPECT_EQ(TopToExclude(0.1f, list), 2u);
  EXPECT_EQ(TopToExclude(0.2f, list), 1u);
  EXPECT_EQ(TopToExclude(0.4f, list), 0u) << "one alone stays";
  EXPECT_EQ(TopToExclude(0.6f, list), 0u);
  EXPECT_EQ(TopToExclude(0, list), 3u);
  EXPECT_EQ(TopToExclude(0.1f, List({0.5, 0.3}, /*open=*/true)), std::nullopt);
}

TEST(Surprise, TakesWhatIsProbableEnough) {
  const CandidateList list = List({0.5, 0.25, 0.125, 0.125});
  EXPECT_NEAR(SurpriseBits(list, list.entries[1]), 2, 1e-6);
  std::vector<float> logits = {kBannedLogit};
  for (const Candidate& entry : list.entries) logits.push_back(entry.logit);
  const auto taken = [&](double bits) { return Ids({.entries = Reaching(LeastLogit(/*log_sum=*/0, bits), logits)}); };
  EXPECT_THAT(taken(2.5), ElementsAre(1, 2));
  EXPECT_THAT(taken(0.5), testing::IsEmpty());
  EXPECT_THAT(taken(1e9), ElementsAre(1, 2, 3, 4)) << "never a banned one";
}

TEST(Temperature, SharpensAndFlattens) {
  CandidateList list = List({0.8, 0.2});
  ApplyTemperature(0.5f, list, kKernels);
  EXPECT_NEAR(list.Probability(list.entries[0]), 0.64 / 0.68, 1e-6);
}

}  // namespace
}  // namespace inferd::sampling
