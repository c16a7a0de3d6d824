#include "engine/generation/token_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

const std::vector<int32_t> kPrompt = {10, 11, 12, 13};

std::vector<int32_t> All(const TokenText& text) {
  std::vector<int32_t> scratch, out;
  const std::span<const int32_t> all = text.view().All(scratch);
  return {all.begin(), all.end()};
}

TEST(TokenText, PiecesAreCopiedOnlyAcrossTheEndOfThePrompt) {
  TokenText text(kPrompt);
  for (int32_t token : {20, 21, 22}) text.push_back(token);
  ASSERT_EQ(text.size(), 7u);
  const std::vector<int32_t> whole = {10, 11, 12, 13, 20, 21, 22};
  for (size_t first = 0; first <= whole.size(); ++first) {
    EXPECT_TRUE(first == whole.size() || text.view()[first] == whole[first]);
    for (size_t count = 0; first + count <= whole.size(); ++count) {
      std::vector<int32_t> scratch;
      EXPECT_THAT(text.view().Piece(first, count, scratch), ElementsAreArray(std::span(whole).subspan(first, count)));
      EXPECT_EQ(!scratch.empty(), first < 4 && first + count > 4);
    }
  }
  EXPECT_EQ(text.back(), 22);
  EXPECT_EQ(TokenText(kPrompt).back(), 13);
}

TEST(TokenText, ErasesFromAnyPlace) {
  for (size_t first = 0; first <= 7; ++first) {
    for (size_t count = 0; first + count <= 7; ++count) {
      TokenText text(kPrompt);
      for (int32_t token : {20, 21, 22}) text.push_back(token);
      std::vector<int32_t> expected = {10, 11, 12, 13, 20, 21, 22};
      expected.erase(expected.begin() + static_cast<long>(first), expected.begin() + static_cast<long>(first + count));
      text.Erase(first, count);
      EXPECT_EQ(All(text), expected);
      text.push_back(30);
      EXPECT_EQ(text.back(), 30);
    }
  }
  EXPECT_THAT(kPrompt, ElementsAre(10, 11, 12, 13));
}

}  // namespace
}  // namespace inferd::engine
