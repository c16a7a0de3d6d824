#include "config/base/json_string.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace inferd {
namespace {

TEST(JsonString, EscapesWhatCouldForgeALine) {
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "\"plain\""},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"a\r\nb\tc", R"("a\r\nb\tc")"},
      {std::string("\0\x1b[31m\x7f", 7), R"("\u0000\u001b[31m\u007f")"},
      {"\xc2\x85", R"("\u0085")"},
      {"\xe2\x80\xa8\xe2\x80\xa9", R"("\u2028\u2029")"},
      {"grün 語 🙂", "\"grün 語 🙂\""},
      {"\xff\xfe", R"("\ufffd\ufffd")"},
      {"\xc0\xaf", R"("\ufffd\ufffd")"},            // overlong
      {"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},  // surrogate
      {"\xf4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")"},
      {"cut \xe2\x82", R"("cut \ufffd\ufffd")"},
  };
  for (const auto& [text, json] : cases) {
    std::string out;
    AppendJsonString(text, out);
    EXPECT_EQ(out, json);
  }
}

TEST(Utf8, KnowsTheLengthOfAValidCharacterAlone) {
  const std::pair<std::string_view, size_t> cases[] = {
      {"", 0},
      {"a", 1},
      {std::string_view("\0", 1), 1},
      {"é!", 2},
      {"語", 3},
      {"🙂x", 4},
      {"\xed\x9f\xbf", 3},      // U+D7FF, the last before the surrogates
      {"\xed\xa0\x80", 0},      // U+D800
      {"\xee\x80\x80", 3},      // U+E000
      {"\xf4\x8f\xbf\xbf", 4},  // U+10FFFF
      {"\xf4\x90\x80\x80", 0},
      {"\xe0\x9f\xbf", 0},  // overlong
      {"\xf0\x8f\xbf\xbf", 0},
      {"\xc1\xbf", 0},
      {"\x80", 0},
      {"\xe8\xaa", 0},  // cut
  };
  for (const auto& [text, length] : cases) EXPECT_EQ(Utf8CharacterLength(text), length) << text;
}

TEST(Utf8, IsValidAsAWhole) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("grün 語 🙂"));
  EXPECT_FALSE(IsUtf8("grün\xff"));
  EXPECT_FALSE(IsUtf8("\xe8\xaa"));
}

}  // namespace
}  // namespace inferd
