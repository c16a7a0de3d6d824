#include "engine/sampling/dry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace inferd::sampling {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Token t is the byte t.
std::shared_ptr<const TokenTexts> Bytes() {
  return std::make_shared<const TokenTexts>(
      128, [](int32_t token, bool) { return std::string(1, static_cast<char>(token)); });
}

std::vector<float> Penalized(const DryOptions& options, const std::vector<int32_t>& tokens) {
  DryHistory history(options, std::make_shared<const ByteAutomaton>(options.sequence_breakers), Bytes());
  for (int32_t token : tokens) history.Push(token);
  std::vector<float> logits(128, 0);
  history.Penalize(logits);
  return logits;
}

// The lengths and penalties are those of a separate computation in Python after llama.cpp's definition.
TEST(Dry, FindsWhatWouldContinueARepeat) {
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 9, 2, 3, 4, 7, 1, 2, 3};
  EXPECT_THAT(Repeats(tokens, 100, 2), ElementsAre(Pair(4, 3)));
  EXPECT_THAT(Repeats(tokens, 2, 2), ElementsAre(Pair(4, 2)));
  EXPECT_THAT(Repeats(std::vector<int32_t>{5, 5, 5, 5}, 100, 2), ElementsAre(Pair(5, 3)));
  EXPECT_FLOAT_EQ(Penalized({.multiplier = 0.8f}, tokens)[4], -0.8f * 1.75f);
  EXPECT_EQ(Penalized({.multiplier = 0.8f}, tokens)[9], 0);
}

TEST(Dry, AgreesWithTheDefinitionOnRandomTokens) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> tokens(1 + random() % 60);
    for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 3);
    const int32_t limit = static_cast<int32_t>(random() % 20), least = static_cast<int32_t>(random() % 4);
    std::map<int32_t, int32_t> expected;
    const auto size = static_cast<int32_t>(tokens.size());
    for (int32_t end = 1; end < size; ++end) {  // tokens[end] followed this earlier end
      int32_t length = 0;
      while (length < end && tokens[end - 1 - length] == tokens[size - 1 - length]) ++length;
      length = std::min(length, limit);
      if (length < least) continue;
      int32_t& known = expected[tokens[end]];
      known = std::max(known, length);
    }
    const std::map<int32_t, int32_t> found = [&] {
      const auto pairs = Repeats(tokens, limit, least);
      return std::map<int32_t, int32_t>(pairs.begin(), pairs.end());
    }();
    ASSERT_EQ(found, expected) << "round " << round;
  }
}

TEST(Dry, NoRepeatGoesAcrossABreaker) {
  const std::vector<int32_t> tokens = {'a', 'b', ':', 'c', 'd', 'e', 'a', 'b', ':', 'c', 'd'};
  DryOptions options{.multiplier = 1, .base = 2};
  EXPECT_EQ(Penalized(options, tokens)['e'], -1) << "two tokens after the colon";
  options.sequence_breakers = {"no such text"};
  EXPECT_EQ(Penalized(options, tokens)['e'], -8) << "five tokens";
  options.sequence_breakers = {"b:c"};  // across tokens
  EXPECT_EQ(Penalized(options, tokens)['e'], 0) << "one token is less than allowed_length";
}

TEST(Dry, LooksOnlyAtTheLastTokens) {
  const std::vector<int32_t> tokens = {'a', 'b', 'c', 'x', 'y', 'z', 'a', 'b'};
  EXPECT_EQ(Penalized({.multiplier = 1, .penalty_last_n = 8}, tokens)['c'], -1);
  EXPECT_EQ(Penalized({.multiplier = 1, .penalty_last_n = 7}, tokens)['c'], 0);
  EXPECT_EQ(Penalized({.multiplier = 1, .penalty_last_n = 0}, tokens)['c'], 0);
}

TEST(Dry, ALongRepeatKeepsTheLogitFinite) {
  std::vector<int32_t> tokens(5000, 'a');
  const std::vector<float> logits = Penalized({.multiplier = 100, .base = 100}, tokens);
  EXPECT_FALSE(IsBanned(logits['a'])) << "it is still a token, if the only one left";
  EXPECT_LT(logits['a'], -1e19f);
  EXPECT_EQ(DryPenalty({.multiplier = 3, .base = 1}, 1 << 30), 3);
}

}  // namespace
}  // namespace inferd::sampling
