#include "engine/constraint/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/status.h"
#include "engine/constraint/testing_grammar.h"

namespace inferd::constraint {
namespace {

absl::StatusOr<Grammar> GrammarOf(std::string_view pattern, bool anywhere = false) {
  Grammar grammar;
  ASSIGN_OR_RETURN(const ExprId expr, ReadRegex(pattern, grammar, {.anywhere = anywhere}));
  const RuleId root = grammar.AddRule("root");
  grammar.Define(root, expr);
  grammar.set_root(root);
  return grammar;
}

struct Case {
  const char* pattern;
  std::vector<std::string> taken, refused;
};

class Regex : public testing::TestWithParam<Case> {};

TEST_P(Regex, TakesItsTextsAlone) {
  const absl::StatusOr<Grammar> grammar = GrammarOf(GetParam().pattern);
  ASSERT_EQ(grammar.status(), absl::OkStatus());
  TextJudge judge(*grammar);
  ASSERT_EQ(judge.error, "");
  for (const std::string& text : GetParam().taken) EXPECT_TRUE(judge.Takes(text)) << text;
  for (const std::string& text : GetParam().refused) EXPECT_FALSE(judge.Takes(text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Regex,
    testing::Values(
        Case{"abc", {"abc"}, {"", "ab", "abcd"}}, Case{"^a|b$", {"a", "b"}, {"ab", "ba"}},
        Case{"[a-c]{2,3}x?", {"ab", "abcx"}, {"a", "abca", "abxx"}}, Case{"(a|bc)*d", {"d", "abcbcad"}, {"bd", "a"}},
        Case{"\\d{4}-\\d\\d", {"2024-12"}, {"2024-1", "20a4-12"}},
        Case{".", {"a", "ä", "\xE2\x82\xAC"}, {"\n", "", "ab", "\xED\xA0\x80", "\xC0\x80"}},
        Case{"[^a-z\\s]+", {"ABC", "ÄÖ1"}, {"a", "A b", ""}}, Case{"[\\w.-]+@\\w+", {"a.b-c@d"}, {"@d", "a@"}},
        Case{"[]a]", {"]", "a"}, {"b"}}, Case{"[a-]", {"a", "-"}, {"b"}}, Case{"a{,2}", {"", "aa"}, {"aaa"}},
        Case{"a{b}{", {"a{b}{"}, {"ab"}}, Case{"(?:x|(?P<name>y)|(?<n>z))+?", {"xyz"}, {""}},
        Case{"\\x41\\u00e4\\u{1F600}\\.\\\\\\n\\t", {"Aä\xF0\x9F\x98\x80.\\\n\t"}, {"A"}}, Case{"", {""}, {"a"}},
        Case{"a||b", {"a", "", "b"}, {"ab"}}, Case{"(a*)*b", {"b", "aaab"}, {"a"}}, Case{"(a*)+", {"", "aaa"}, {"b"}},
        Case{"((a{0,3}){0,3}){0,3}", {"", std::string(27, 'a')}, {std::string(28, 'a')}},
        Case{"(ab?){70,90}",
             {std::string(70, 'a'), std::string(90, 'a') + "b"},
             {std::string(69, 'a'), std::string(91, 'a')}},
        Case{"x{70,}y", {std::string(70, 'x') + "y", std::string(500, 'x') + "y"}, {std::string(69, 'x') + "y"}},
        Case{"\\S\\W\\D", {"aä-", "1 x"}, {" -x", "aa1"}}));

TEST(Regex, SearchesAnywhereWhereAsked) {
  const struct {
    const char* pattern;
    std::vector<std::string> taken, refused;
  } cases[] = {{"b+", {"b", "abba", "xb"}, {"", "a"}},
               {"^b", {"b", "ba"}, {"ab"}},
               {"b$", {"b", "ab"}, {"ba"}},
               {"^b$|^c", {"b", "c", "ca"}, {"bb", "ac"}}};
  for (const auto& test : cases) {
    TextJudge judge(*GrammarOf(test.pattern, /*anywhere=*/true));
    for (const std::string& text : test.taken) EXPECT_TRUE(judge.Takes(text)) << test.pattern << " " << text;
    for (const std::string& text : test.refused) EXPECT_FALSE(judge.Takes(text)) << test.pattern << " " << text;
  }
}

TEST(Regex, RefusesByNameAndPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"a(?=b)", "at offset 1: lookahead is not supported"},
      {"(?<!a)b", "at offset 0: lookbehind is not supported"},
      {"(a)\\1", "at offset 3: back-references are not supported: \\1"},
      {"(?P=x)", "a back-reference is not supported"},
      {"(?i)a", "flags are not supported"},
      {"\\bword", "at offset 0: \\b is not supported here"},
      {"\\pL", "at offset 0: \\p is not supported"},
      {"a^b", "at offset 1: ^ is supported at the beginning"},
      {"a$b", "at offset 2: something after $"},
      {"(a$)", "at offset 2: $ is supported at the beginning"},
      {"*a", "at offset 0: nothing to repeat before *"},
      {"a**", "at offset 2: a quantifier follows a quantifier"},
      {"a*+", "possessive quantifiers are not supported"},
      {"a{3,2}", "3 repetitions at least and 2 at most"},
      {"a{0,1000000}", "more than 100000 repetitions"},
      {"(a", "at offset 0: the group has no end"},
      {"a)", "at offset 1: ')' closes no group"},
      {"[a", "at offset 0: the class has no end"},
      {"[z-a]", "a range of characters goes backwards"},
      {"[[:alpha:]]", "classes of the form [:name:] are not supported"},
      {"a\\", "the pattern ends within an escape"},
      {"\\xg1", "\\x needs the hexadecimal digits"},
      {"\\ud800", "\\u needs the hexadecimal digits"},
      {"\xFF", "at offset 0: the pattern is not UTF-8"}};
  for (const auto& [pattern, message] : cases) {
    const absl::StatusOr<Grammar> grammar = GrammarOf(pattern);
    EXPECT_EQ(grammar.status().code(), absl::StatusCode::kInvalidArgument) << pattern;
    EXPECT_THAT(std::string(MessageOf(grammar.status())), testing::HasSubstr(message)) << pattern;
  }
  EXPECT_THAT(std::string(MessageOf(GrammarOf(std::string(60000, '(')).status())),
              testing::HasSubstr("more than 200 groups"));
}

}  // namespace
}  // namespace inferd::constraint
