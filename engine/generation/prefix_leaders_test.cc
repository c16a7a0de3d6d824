#include "engine/generation/prefix_leaders.h"

#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

// `common` tokens that all prompts share, then tokens of their own.
std::vector<int32_t> Prompt(size_t common, size_t own, int32_t mark) {
  std::vector<int32_t> tokens(common, 7);
  tokens.resize(common + own, mark);
  return tokens;
}

TEST(PrefixLeaders, ALaterPromptSharesWholePagesWithTheFirst) {
  PrefixLeaders leaders;
  EXPECT_FALSE(leaders.Join(1, Prompt(200, 50, 1), 0));
  const auto shared = leaders.Join(2, Prompt(200, 50, 2), 0);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->leader, 1u);
  EXPECT_EQ(shared->tokens, 192);
}

TEST(PrefixLeaders, NeverAllTokensOfAPrompt) {
  PrefixLeaders leaders;
  leaders.Join(1, Prompt(128, 0, 1), 0);
  EXPECT_EQ(leaders.Join(2, Prompt(128, 0, 1), 0)->tokens, 64) << "the last token's logits must be computed";
}

TEST(PrefixLeaders, EqualPromptsShareAllButTheLastToken) {
  struct Case {
    size_t tokens;
    int64_t pages, tail;
  };
  for (const Case& c : {Case{17, 0, 16}, {100, 64, 35}, {128, 64, 63}, {200, 192, 0}}) {
    PrefixLeaders leaders;
    leaders.Join(1, Prompt(c.tokens, 0, 1), 0);
    const auto shared = leaders.Join(2, Prompt(c.tokens, 0, 1), 0);
    ASSERT_TRUE(shared) << c.tokens;
    EXPECT_EQ(shared->tokens, c.pages);
    EXPECT_EQ(shared->tail, c.tail) << "fewer than 16 tokens are not worth waiting for";
    leaders.Leave(1);
    EXPECT_FALSE(leaders.Join(3, Prompt(c.tokens, 0, 1), 0));
  }
  PrefixLeaders leaders;
  leaders.Join(1, Prompt(16, 0, 1), 0);
  leaders.Join(2, Prompt(40, 0, 1), 0);
  EXPECT_FALSE(leaders.Join(3, Prompt(16, 0, 1), 0));
  EXPECT_FALSE(leaders.Join(4, Prompt(41, 0, 1), 0)) << "another length";
}

TEST(PrefixLeaders, TheLongestBeginningCounts) {
  PrefixLeaders leaders;
  leaders.Join(1, Prompt(100, 0, 1), 0);
  leaders.Join(2, Prompt(100, 100, 2), 0);
  EXPECT_EQ(leaders.Join(3, Prompt(100, 100, 2), 0)->leader, 2u);
  EXPECT_EQ(leaders.Join(4, Prompt(100, 100, 3), 0)->leader, 1u);
}

TEST(PrefixLeaders, AnHeirLeadsFarAsItHasTheSameBeginning) {
  PrefixLeaders leaders;
  leaders.Join(1, Prompt(200, 100, 1), 0);
  const auto shared = leaders.Join(2, Prompt(200, 100, 2), 0);
  leaders.HandOver({.leader = 1, .heir = 2, .tokens = shared->end()});
  leaders.Leave(1);
  EXPECT_EQ(leaders.Join(3, Prompt(200, 10, 3), 0)->leader, 2u);
  EXPECT_EQ(leaders.Join(4, Prompt(200, 100, 1), 0)->tokens, 192) << "the rest had been the first's alone";
  leaders.Leave(2);
  EXPECT_FALSE(leaders.Join(5, Prompt(200, 10, 5), 0));
}

TEST(PrefixLeaders, AnotherSaltSharesNothing) {
  PrefixLeaders leaders;
  leaders.Join(1, Prompt(200, 0, 1), 5);
  EXPECT_FALSE(leaders.Join(2, Prompt(200, 0, 1), 6));
}

TEST(PrefixLeaders, OneThatLeavesLeadsNobody) {
  PrefixLeaders leaders;
  leaders.Join(1, Prompt(200, 0, 1), 0);
  leaders.Leave(1);
  EXPECT_FALSE(leaders.Join(2, Prompt(200, 0, 1), 0));
}

}  // namespace
}  // namespace inferd::engine
