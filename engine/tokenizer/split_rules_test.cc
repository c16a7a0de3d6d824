// Scanners against the patterns that define them, on random text; and the time that long monotonous texts take.
#include "engine/tokenizer/split_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

// Text of the characters at which patterns part ways, in runs, for patterns count.
std::string RandomText(std::mt19937& random, size_t runs) {
  constexpr std::u32string_view kCharacters =
      U"aZsStTdDmMrReEvVlLſK ' ' \n\n\r\t  019.,!/-_$|<>中文\u3005\u3007々한글ÀéßǅʰאבΩωД́\u0903\u20DD²½Ⅳ٣٤\u00A0"
      U"\u0085\u2028\u3000\u180E\u200B\u0001\u0378😀—…“\u2E80ﬁ𝟘𐐀𐐨";
  std::string text;
  for (size_t run = 0; run < runs; ++run) {
    const char32_t character = random() % 16 == 0 ? random() % 0x3000 : kCharacters[random() % kCharacters.size()];
    const size_t length = random() % 4 == 0 ? 1 + random() % 5 : 1;
    for (size_t i = 0; i < length; ++i) AppendUtf8(character, text);
  }
  return text;
}

std::vector<std::string> PiecesOf(const std::string& text, const std::vector<uint32_t>& ends) {
  std::vector<std::string> pieces;
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

class Scanners : public testing::TestWithParam<SplitFamily> {};

TEST_P(Scanners, EqualTheirPatterns) {
  std::mt19937 random(7);
  const auto scanner = PreTokenizer::Create(GetParam().rules);
  const auto pattern = PreTokenizer::Create(GetParam().rules, /*use_scanners=*/false);
  ASSERT_TRUE(scanner.ok()) << scanner.status();
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  for (int round = 0; round < 3000; ++round) {
    const std::string text = RandomText(random, 1 + random() % 24);
    std::vector<uint32_t> fast, slow;
    ASSERT_TRUE(scanner->Split(text, fast).ok());
    ASSERT_TRUE(pattern->Split(text, slow).ok());
    ASSERT_EQ(PiecesOf(text, fast), PiecesOf(text, slow)) << testing::PrintToString(text);
    ASSERT_EQ(fast.back(), text.size());
  }
}

// Of 131072 equal characters; work that grows with their square takes longer than a test program may run.
TEST_P(Scanners, TakeLinearTime) {
  const auto words = PreTokenizer::Create(GetParam().rules);
  ASSERT_TRUE(words.ok()) << words.status();
  for (const std::string unit :
       {"a", "A", "\n", " ", " \n", "1", "'", ".", "中", "é", "a ", "\t", "\r\n", "aA", "\u0301"}) {
    for (const std::string tail : {"", "x", "."}) {
      std::string text;
      while (text.size() < 131072) text += unit;
      std::vector<uint32_t> ends;
      EXPECT_TRUE(words->Split(text + tail, ends).ok()) << testing::PrintToString(unit);
      EXPECT_EQ(ends.back(), text.size() + tail.size());
    }
  }
}

TEST_P(Scanners, KeepEveryByteOfBrokenText) {
  std::mt19937 random(11);
  const auto words = PreTokenizer::Create(GetParam().rules);
  ASSERT_TRUE(words.ok()) << words.status();
  for (int round = 0; round < 500; ++round) {
    std::string text = RandomText(random, 12);
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    std::vector<uint32_t> ends;
    ASSERT_TRUE(words->Split(text, ends).ok());
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
    EXPECT_EQ(std::adjacent_find(ends.begin(), ends.end()), ends.end());
    EXPECT_EQ(ends.back(), text.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Scanners, testing::ValuesIn(SplitFamilies().begin(), SplitFamilies().end()),
                         [](const auto& info) {
                           std::string name(info.param.names.substr(0, info.param.names.find(' ')));
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace inferd::tokenizer
