#include "engine/scheduler/prefill_share.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

namespace inferd::scheduler {
namespace {

Rates Measured() {
  Rates rates;
  rates.StepDone({.decode_sequences = 8}, 0.04);
  rates.StepDone({.prefill_tokens = 100}, 0.1);
  return rates;
}

TEST(PrefillBudget, IsTheWholeWithoutStreamsOrBeforeAnythingIsKnown) {
  EXPECT_EQ(PrefillBudget(256, Measured(), /*streams=*/0, /*prompts=*/1), 256);
  EXPECT_EQ(PrefillBudget(256, Rates{}, 8, 1), 256);
}

TEST(PrefillBudget, FewPromptsBesideStreamsKeepAStepBelowTwiceItsLength) {
  EXPECT_EQ(PrefillBudget(256, Measured(), 8, 1), 20);
  EXPECT_EQ(PrefillBudget(20, Measured(), 8, 1), 20);
}

TEST(PrefillBudget, MorePromptsThanStreamsGetMoreOfAStep) { EXPECT_EQ(PrefillBudget(256, Measured(), 2, 8), 136); }

TEST(BurstBudget, ManyShortPromptsGetMostOfAStep) {
  const std::vector<Prompt> prompts(6, Prompt{.pending = 128, .length = 128});
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8}, std::span(prompts).first(2)), 40);
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8}, prompts), 200);
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 2}, prompts), 256);
  EXPECT_EQ(BurstBudget(1000, Measured(), {.count = 2}, prompts), 272) << "eight times the streams' step of 34 ms";
  EXPECT_EQ(BurstBudget(256, Measured(), {}, prompts), 256);
}

TEST(BurstBudget, LongPromptsAreNoBurst) {
  const Prompt prompts[] = {
      {.pending = 4000, .length = 4000}, {.pending = 4000, .length = 4000}, {.pending = 257, .length = 257}};
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8}, prompts), 20);
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 1}, prompts), 99) << "the usual share of three prompts";
}

TEST(BurstBudget, IsNoMoreThanTheShortPromptsHaveLeft) {
  const Prompt prompts[] = {{.pending = 4000, .length = 4000},
                            {.pending = 5, .length = 100},
                            {.pending = 5, .length = 100},
                            {.pending = 20, .length = 100}};
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8}, prompts), 30);
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8}, std::span(prompts).first(2)), 20);
}

TEST(BurstBudget, VeryShortPromptsDoNotHoldUpTheStreams) {
  const std::vector<Prompt> prompts(8, Prompt{.pending = 32, .length = 32});
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8}, prompts), 70) << "two streams each, but for one of them";
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 14}, prompts), 46);
}

TEST(BurstBudget, PromptsThatRankBehindAStreamAreNoBurst) {
  const std::vector<Prompt> prompts(6, Prompt{.pending = 128, .length = 128, .priority = 2});
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8, .best_priority = 1}, prompts), 30);
  EXPECT_EQ(BurstBudget(256, Measured(), {.count = 8, .best_priority = 2}, prompts), 200);
}

TEST(PrefillBudget, IsNeverTooLittleToGoOn) {
  Rates slow;
  slow.StepDone({.decode_sequences = 1}, 0.01);
  slow.StepDone({.prefill_tokens = 1}, 1);
  EXPECT_EQ(PrefillBudget(256, slow, 1, 1), 4);
}

TEST(PrefillShare, OnePromptTakesAll) {
  Prompt prompts[] = {{.pending = 4000}};
  ShareBudget(256, prompts);
  EXPECT_EQ(prompts[0].given, 256);
}

TEST(PrefillShare, AShortPromptIsNotHeldUpByALongOne) {
  Prompt prompts[] = {{.pending = 4000, .last_served_step = 5}, {.pending = 20}};
  ShareBudget(256, prompts);
  EXPECT_EQ(prompts[1].given, 20);
  EXPECT_EQ(prompts[0].given, 236);
}

TEST(PrefillShare, TheSmallestBudgetGoesInTurns) {
  Prompt prompts[] = {{.pending = 4000, .last_served_step = 5}, {.pending = 20, .last_served_step = 6}};
  ShareBudget(1, prompts);
  EXPECT_EQ(prompts[0].given, 1);
}

TEST(PrefillShare, ALongPromptMovesOnBesideManyShortOnes) {
  std::vector<Prompt> prompts(20, Prompt{.pending = 200, .last_served_step = 9});
  prompts[7] = {.pending = 5000, .last_served_step = 1};
  ShareBudget(128, prompts);
  EXPECT_GE(prompts[7].given, 32);
}

TEST(PrefillShare, ABetterPriorityGoesFirst) {
  Prompt prompts[] = {{.pending = 100, .priority = 1}, {.pending = 300, .priority = 0}};
  ShareBudget(256, prompts);
  EXPECT_EQ(prompts[1].given, 256);
}

TEST(PrefillShare, GivesTheWholeBudgetAndNeverMoreThanIsPending) {
  std::mt19937 random(1);
  for (int round = 0; round < 10000; ++round) {
    std::vector<Prompt> prompts(random() % 40);
    int64_t pending = 0, given = 0;
    for (Prompt& prompt : prompts) {
      prompt = {.pending = static_cast<int64_t>(1 + random() % 600),
                .priority = static_cast<int>(random() % 4),
                .last_served_step = random() % 5};
      pending += prompt.pending;
    }
    const int64_t budget = 1 + random() % 512;
    ShareBudget(budget, prompts);
    for (const Prompt& prompt : prompts) {
      ASSERT_GE(prompt.given, 0);
      ASSERT_LE(prompt.given, prompt.pending);
      given += prompt.given;
    }
    ASSERT_EQ(given, std::min(budget, pending));
  }
}

}  // namespace
}  // namespace inferd::scheduler
