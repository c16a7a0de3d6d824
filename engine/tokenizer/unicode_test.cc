#include "engine/tokenizer/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tokenizer/pattern.h"

namespace inferd::tokenizer {
namespace {

struct Property {
  const char* pattern;
  CharacterSet set;
};

class UnicodeProperty : public testing::TestWithParam<Property> {};

// Every code point at once, each on a line of its own. PCRE2 may know a later Unicode: what it alone has is left out.
TEST_P(UnicodeProperty, IsWhatPcre2SaysOfEveryCodePoint) {
  std::string text;
  std::vector<char32_t> code_points;
  std::vector<size_t> begins;
  const UnicodeTable& unicode = UnicodeTable::Get();
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if ((code_point >= 0xD800 && code_point < 0xE000) || unicode.Is(SetOf(Category::kCn), code_point)) continue;
    begins.push_back(text.size());
    code_points.push_back(code_point);
    AppendUtf8(code_point, text);
  }
  const auto pattern = Pattern::Compile(GetParam().pattern);
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  std::vector<size_t> expected, matches;
  for (size_t i = 0; i < begins.size(); ++i) {
    if (unicode.Is(GetParam().set, code_points[i])) expected.push_back(begins[i]);
  }
  ASSERT_TRUE(pattern->ForEachMatch(text, [&](size_t begin, size_t) { matches.push_back(begin); }).ok());
  EXPECT_GT(matches.size(), 10U);
  EXPECT_TRUE(matches == expected);
}

INSTANTIATE_TEST_SUITE_P(All, UnicodeProperty,
                         testing::Values(Property{"\\p{L}", kLetters}, Property{"\\p{N}", kNumbers},
                                         Property{"\\p{M}", kMarks}, Property{"\\p{P}", kPunctuation},
                                         Property{"\\p{S}", kSymbols}, Property{"\\p{Lu}", SetOf(Category::kLu)},
                                         Property{"\\p{Ll}", SetOf(Category::kLl)},
                                         Property{"\\p{Nd}", SetOf(Category::kNd)}, Property{"\\p{sc:Han}", kHan},
                                         Property{"\\s", kWhiteSpace}));

TEST(Unicode, LowersAndDecomposes) {
  EXPECT_EQ(LowercaseOf(U'É'), U'é');
  EXPECT_EQ(LowercaseOf(U'Ω'), U'ω');
  EXPECT_EQ(LowercaseOf(U'1'), U'1');
  std::vector<char32_t> parts;
  AppendDecomposition(U'\u1E69', parts);  // s with dot below and dot above, in two steps
  EXPECT_THAT(parts, testing::ElementsAre(U's', U'\u0323', U'\u0307'));
  parts.clear();
  AppendDecomposition(U'각', parts);
  EXPECT_THAT(parts, testing::ElementsAre(U'\u1100', U'\u1161', U'\u11A8'));
}

TEST(Utf8, RefusesWhatIsNoCharacter) {
  for (const std::string text : {"\x80", "\xC0\x80", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                                 "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    const Character character = DecodeUtf8(text.data(), text.data() + text.size());
    EXPECT_EQ(character.code_point, kBrokenCharacter) << testing::PrintToString(text);
    EXPECT_EQ(character.bytes, 1U);
  }
}

}  // namespace
}  // namespace inferd::tokenizer
