#include "engine/constraint/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/status.h"
#include "engine/constraint/testing_grammar.h"

namespace inferd::constraint {
namespace {

struct Case {
  const char* grammar;
  std::vector<std::string> taken, refused;
};

class Gbnf : public testing::TestWithParam<Case> {};

TEST_P(Gbnf, TakesItsTextsAlone) {
  Grammar grammar;
  ASSERT_EQ(ReadGbnf(GetParam().grammar, grammar), absl::OkStatus());
  TextJudge judge(grammar);
  ASSERT_EQ(judge.error, "");
  for (const std::string& text : GetParam().taken) EXPECT_TRUE(judge.Takes(text)) << text;
  for (const std::string& text : GetParam().refused) EXPECT_FALSE(judge.Takes(text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Gbnf,
    testing::Values(
        Case{"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "y", "yesno", "Yes"}},
        Case{"root ::= [a-c]+ [^x\\n]", {"ad", "abcä", "aa"}, {"a", "ax", "a\n", "ab\xC3"}},
        Case{"root ::= \"a\"{2} \"b\"{1,} \"c\"{0,2} \"d\"{,1}", {"aab", "aabbbbccd"}, {"ab", "aabccc", "aabdd", "aa"}},
        Case{"root ::= . .", {"ab", "äö", "\n\xF0\x9F\x98\x80"}, {"a", "abc", "\xC3\xA4"}},
        Case{"# comment\nroot ::= # more\n  (\"a\" |\n   \"b\")* \"c\"\n", {"c", "abac"}, {"ab", "d"}},
        Case{"root ::= item\n  | \"(\" root \")\"\nitem ::= [0-9]\n", {"1", "((7))"}, {"", "(1", "((7)", "()"}},
        Case{"root ::= expr\nexpr ::= term (\"+\" term)*\nterm ::= [0-9]+ | \"(\" expr \")\"",
             {"1+2", "(1+(2+33))+4"},
             {"1+", "(1", "1)"}},
        Case{"root ::= \"\\x41\\u00e4\\U0001F600\\\"\\\\\"", {"Aä\xF0\x9F\x98\x80\"\\"}, {"A"}},
        Case{"root ::= [\\]\\[-]*", {"", "[-]"}, {"a"}}, Case{"root ::= \"\"", {""}, {"a"}},
        Case{"root ::= a b\na ::= \"x\"?\nb ::= a \"y\"", {"y", "xy", "xxy"}, {"xxxy", "x"}},
        Case{"root ::= (\"a\"? \"b\"?){2,3}", {"", "ab", "aaa", "bab", "ababab"}, {"abababa", "bbbb"}},
        Case{"root ::= \"a\" root | \"b\"", {"b", "aaaab"}, {"a", "ba"}},
        Case{"root ::= \"a\" root \"a\" | \"a\" root \"b\" | \"c\"", {"c", "aacab", "aaacbab"}, {"aca a", "aacb"}},
        Case{"root ::= (\"a\" | \"aa\"){3}", {"aaa", "aaaaaa", "aaaa"}, {"aa", "aaaaaaa"}}));

TEST(Gbnf, SaysWhereAnErrorIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no rule root"},
      {"rot ::= \"a\"", "there is no rule root"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: rule root is defined twice"},
      {"root ::= a\n  | bc d", "line 1, column 10: rule a is used and not defined"},
      {"root = \"a\"", "line 1, column 6: expected ::= after the name root"},
      {"root ::= \"a", "line 1, column 10: the literal has no end"},
      {"root ::= [a", "line 1, column 10: the class has no end"},
      {"root ::= [b-a]", "line 1, column 14: a range of characters goes backwards"},
      {"root ::= (\"a\"", "line 1, column 10: the group has no end"},
      {"root ::= \"a\")", "line 1, column 13: unexpected ')'"},
      {"root ::= \"a\"{3,2}", "line 1, column 13: 3 repetitions at least and 2 at most"},
      {"root ::= \"a\"{x}", "line 1, column 13: expected {m}, {m,} or {m,n}"},
      {"root ::= \"a\"{0,999999}", "line 1, column 13: more than 100000 repetitions"},
      {"root ::= *", "line 1, column 10: unexpected '*'"},
      {"root ::= \"\\q\"", "line 1, column 11: an escape that is none of"},
      {"root ::= <think>", "line 1, column 10: tokens in angle brackets are not supported"},
      {"root ::= \"\xFF\"", "line 1, column 11: the grammar is not UTF-8"}};
  for (const auto& [text, message] : cases) {
    Grammar grammar;
    const absl::Status status = ReadGbnf(text, grammar);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(MessageOf(status)), testing::HasSubstr(message)) << text;
  }
}

TEST(Gbnf, RefusesWhatHasNoAutomaton) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= root \"a\" | \"b\"", "rule root begins with itself"},
      {"root ::= a | \"c\"\na ::= b? root", "rule root begins with itself"},
      {"root ::= \"x\" a\na ::= \"(\" a \")\"", "no text is complete for rule root"},
      {"root ::= (\"a\"?){0,99999}", "99999 repetitions of something that may be empty"}};
  for (const auto& [text, message] : cases) {
    Grammar grammar;
    const std::string whole = std::string(text) + "\nb ::= \"z\"";
    ASSERT_EQ(ReadGbnf(whole, grammar), absl::OkStatus());
    EXPECT_THAT(TextJudge(grammar).error, testing::HasSubstr(message)) << text;
  }
}

TEST(Gbnf, BombsAreRefusedOrHarmless) {
  Grammar deep;
  EXPECT_THAT(std::string(MessageOf(ReadGbnf("root ::= " + std::string(60000, '('), deep))),
              testing::HasSubstr("more than 200 groups"));
  Grammar doubling;
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("r{} ::= r{} r{}\n", i, i + 1, i + 1);
  ASSERT_EQ(ReadGbnf(text + "r40 ::= \"a\"", doubling), absl::OkStatus());
  EXPECT_TRUE(TextJudge(doubling).TakesBeginning("aaa"));
  Grammar nested;
  ASSERT_EQ(ReadGbnf("root ::= (((\"a\"{0,99999}){0,9}){0,9}){0,9} \"b\"", nested), absl::OkStatus());
  TextJudge(nested).TakesBeginning(std::string(100, 'a'));
}

}  // namespace
}  // namespace inferd::constraint
