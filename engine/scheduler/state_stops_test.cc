#include "engine/scheduler/state_stops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace inferd::scheduler {
namespace {

// Where the steps of a prompt end, each with room for `budget` tokens of it.
std::vector<int64_t> Ends(int64_t tokens, int64_t budget, int64_t page_tokens) {
  std::vector<int64_t> ends;
  for (int64_t first = 0; first < tokens; first = ends.back()) {
    const int64_t count = std::min(TokensToLastPage(first, tokens, page_tokens), budget);
    ends.push_back(first + StopAtPage(first, count, page_tokens));
  }
  return ends;
}

TEST(StateStops, AStepEndsWhereTheLastWholePageDoes) {
  struct Case {
    int64_t tokens, budget;
    std::vector<int64_t> ends;
  };
  const Case cases[] = {
      {1, 256, {1}},
      {64, 256, {64}},  // nobody can use the last token of an equal text
      {65, 256, {64, 65}},
      {100, 256, {64, 100}},
      {128, 256, {64, 128}},
      {129, 256, {128, 129}},
      {256, 256, {192, 256}},
      {300, 256, {256, 300}},
      {600, 256, {256, 512, 576, 600}},
      {100, 30, {30, 60, 64, 94, 100}},  // odd budgets, beside streams
      {600, 90, {90, 180, 256, 346, 436, 512, 576, 600}},
      {2000, 300, {256, 512, 768, 1024, 1280, 1536, 1792, 1984, 2000}},
      {5000, 2000, {1984, 3968, 4992, 5000}},
  };
  for (const Case& c : cases) EXPECT_EQ(Ends(c.tokens, c.budget, 64), c.ends) << c.tokens << " by " << c.budget;
}

TEST(StateStops, AnyBudgetLeavesAStateAtLeastEveryFiveHundredTokens) {
  for (int64_t budget = 1; budget <= 256; ++budget) {
    int64_t kept = 0;
    for (const int64_t end : Ends(3000, budget, 64)) {
      if (end % 64 == 0) kept = end;
      ASSERT_LT(end - kept, 500) << budget;
    }
  }
}

TEST(StateStops, WhereNoStateIsKeptNothingStopsEarly) {
  EXPECT_EQ(Ends(600, 256, 0), (std::vector<int64_t>{256, 512, 600}));
}

}  // namespace
}  // namespace inferd::scheduler
