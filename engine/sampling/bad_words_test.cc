#include "engine/sampling/bad_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "config/base/status.h"
#include "engine/sampling/sampling_options.h"

namespace inferd::sampling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The last token is a control token, spelled "ab".
std::shared_ptr<const TokenTexts> Texts(const std::vector<std::string>& tokens) {
  const auto size = static_cast<int32_t>(tokens.size());
  return std::make_shared<const TokenTexts>(size + 1, [&](int32_t token, bool with_special) {
    if (token < size) return tokens[static_cast<size_t>(token)];
    return std::string(with_special ? "ab" : "");
  });
}

std::vector<int32_t> Banned(const BadWords& words, int32_t state, int32_t vocabulary) {
  std::vector<float> logits(static_cast<size_t>(vocabulary), 1);
  words.Ban(state, logits);
  std::vector<int32_t> banned;
  for (int32_t token = 0; token < vocabulary; ++token) {
    if (IsBanned(logits[static_cast<size_t>(token)])) banned.push_back(token);
  }
  return banned;
}

TEST(TokenTexts, FindsTheTokensThatBeginSo) {
  const auto texts = Texts({"b", "abc", "a", "ab", "", "\xFF", "abd"});
  EXPECT_THAT(texts->StartingWith("ab"), ElementsAre(3, 1, 6));
  EXPECT_THAT(texts->StartingWith("\xFF"), ElementsAre(5));
  EXPECT_THAT(texts->StartingWith("x"), IsEmpty());
  EXPECT_EQ(texts->spelled(7), "ab");
  EXPECT_EQ(texts->text(7), "");
}

TEST(BadWords, AWordIsBannedWhereverItsPartsLie) {
  const BadWords words({"bad"}, Texts({"bad", "b", "ba", "d", "ad", "xbady", "da", "bd"}));
  EXPECT_THAT(Banned(words, 0, 9), ElementsAre(0, 5));
  const int32_t after_b = words.Advance(0, 1), after_ba = words.Advance(0, 2);
  EXPECT_THAT(Banned(words, after_b, 9), ElementsAre(0, 4, 5));
  EXPECT_THAT(Banned(words, after_ba, 9), ElementsAre(0, 3, 5, 6));
  EXPECT_THAT(Banned(words, words.Advance(after_ba, 8), 9), ElementsAre(0, 3, 5, 6)) << "a control token gives no text";
  EXPECT_THAT(Banned(words, words.Advance(after_b, 3), 9), ElementsAre(0, 5));
}

// By the definition: a token is banned exactly if the text so far and its own bytes contain a word.
TEST(BadWords, BansExactlyWhatWouldCompleteAWord) {
  std::mt19937 random(3);
  const auto text = [&](uint32_t most) {
    std::string out;
    for (uint32_t n = 1 + random() % most; n > 0; --n) out += static_cast<char>('a' + random() % 3);
    return out;
  };
  size_t banned = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> tokens, words;
    for (int i = 0; i < 30; ++i) tokens.push_back(text(5));
    for (int i = 0; i < 4; ++i) words.push_back(text(6) + "a");
    const BadWords bad(words, Texts(tokens));
    std::string so_far;
    int32_t state = 0;
    for (int step = 0; step < 40; ++step) {
      std::vector<int32_t> expected, allowed;
      for (int32_t token = 0; token < 30; ++token) {
        const std::string next = so_far + tokens[static_cast<size_t>(token)];
        const bool contains = std::any_of(words.begin(), words.end(),
                                          [&](const std::string& word) { return next.find(word) != next.npos; });
        (contains ? expected : allowed).push_back(token);
      }
      ASSERT_EQ(Banned(bad, state, 31), expected) << so_far;
      banned += expected.size();
      if (allowed.empty()) break;
      const int32_t token = allowed[random() % allowed.size()];
      so_far += tokens[static_cast<size_t>(token)];
      state = bad.Advance(state, token);
    }
  }
  EXPECT_GT(banned, 1000u);
}

TEST(BadWords, AreBounded) {
  EXPECT_TRUE(BadWords::Check({std::string(256, 'x')}).ok());
  EXPECT_EQ(MessageOf(BadWords::Check({"a", ""})), "bad_words: text 1 has 0 bytes, expected 1 to 256");
  EXPECT_EQ(MessageOf(BadWords::Check({std::string(257, 'x')})), "bad_words: text 0 has 257 bytes, expected 1 to 256");
  EXPECT_EQ(MessageOf(BadWords::Check(std::vector<std::string>(257, "x"))),
            "bad_words: 257 texts, expected at most 256");
  EXPECT_EQ(MessageOf(BadWords::Check(std::vector<std::string>(17, std::string(256, 'x')))),
            "bad_words: 4352 bytes together, expected at most 4096");
}

}  // namespace
}  // namespace inferd::sampling
