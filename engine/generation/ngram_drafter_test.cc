#include "engine/generation/ngram_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int32_t> Draft(NgramDrafter& drafter, const std::vector<int32_t>& tokens, int64_t most) {
  const Drafter::Wanted wanted[] = {{.id = 1, .tokens = tokens, .most = most}};
  return drafter.Draft(wanted).at(0);
}

std::vector<int32_t> DraftOnce(const std::vector<int32_t>& tokens, int64_t most) {
  NgramDrafter drafter;
  return Draft(drafter, tokens, most);
}

TEST(NgramDrafter, GuessesWhatFollowedTheLastTokens) {
  EXPECT_THAT(DraftOnce({1, 2, 3, 4, 5, 6, 9, 1, 2, 3}, 2), ElementsAre(4, 5));
  EXPECT_THAT(DraftOnce({1, 2, 3, 4, 7, 1, 2, 3, 5, 8, 1, 2, 3}, 1), ElementsAre(5)) << "the last time counts";
  EXPECT_THAT(DraftOnce({1, 2, 3, 4, 5, 9, 2, 3}, 8), ElementsAre(4, 5)) << "few after a pair";
  EXPECT_THAT(DraftOnce({1, 2, 3, 4}, 8), IsEmpty());
  EXPECT_THAT(DraftOnce({1}, 8), IsEmpty());
}

TEST(NgramDrafter, ATextThatRepeatsItselfGoesOn) {
  EXPECT_THAT(DraftOnce({7, 7, 7, 7}, 4), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(DraftOnce({1, 2, 3, 1, 2, 3}, 5), ElementsAre(1, 2, 3, 1, 2));
}

TEST(NgramDrafter, ForgetsATextThatHasChanged) {
  NgramDrafter drafter;
  EXPECT_THAT(Draft(drafter, {1, 2, 3, 4, 5, 6, 7, 1, 2, 3}, 1), ElementsAre(4));
  drafter.Forget(1);
  EXPECT_THAT(Draft(drafter, {1, 2, 3}, 1), IsEmpty());
}

}  // namespace
}  // namespace inferd::engine
