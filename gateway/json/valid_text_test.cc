#include "gateway/json/valid_text.h"

#include <gtest/gtest.h>

#include "gateway/json/fields.h"

namespace inferd::gateway {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

TEST(ValidText, KeepsWhatIsValid) {
  EXPECT_EQ(ValidText(""), "");
  EXPECT_EQ(ValidText("a\u00e9\u20ac\U0001F600"), "a\u00e9\u20ac\U0001F600");
}

TEST(ValidText, ReplacesEachWrongByte) {
  EXPECT_EQ(ValidText("a\xFF"
                      "b"),
            std::string("a") + kReplacement + "b");
  EXPECT_EQ(ValidText("\xE2\x82"), std::string(kReplacement) + kReplacement);
}

TEST(ValidText, CutsBetweenCharacters) {
  EXPECT_EQ(ValidText("ab\u20ac", 2), "ab");
  EXPECT_EQ(ValidText("ab\u20ac", 3), "ab");
  EXPECT_EQ(ValidText("ab\u20ac", 4), "ab");
  EXPECT_EQ(ValidText("ab\u20ac", 5), "ab\u20ac");
}

TEST(ValidText, IsWhatWarningsHave) {
  boost::json::object object;
  object[std::string(63, 'x') + "\u00e9"] = 1;
  std::vector<std::string> warnings = Fields(std::move(object)).Warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "unknown field '" + std::string(63, 'x') + "' was ignored");
}

}  // namespace
}  // namespace inferd::gateway
