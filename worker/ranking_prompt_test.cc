#include "worker/ranking_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr int32_t kBegin = FakeTokenizer::kBegin, kEnd = FakeTokenizer::kEnd, kMark = FakeTokenizer::kMark;

class RankingPromptTest : public testing::Test {
 protected:
  std::vector<int32_t> Make(std::string_view rank_template, std::string_view query, std::string_view document,
                            size_t most_tokens = 0) {
    return Prompt(rank_template, query, document, most_tokens).ids;
  }
  RankingTokens Prompt(std::string_view rank_template, std::string_view query, std::string_view document,
                       size_t most_tokens = 0) {
    auto prompt = RankingPrompt(tokenizer_, rank_template, query, document, most_tokens);
    EXPECT_TRUE(prompt.ok()) << prompt.status();
    return prompt.value_or(RankingTokens());
  }
  std::string Text(const std::vector<int32_t>& ids) { return tokenizer_.Decode(ids, /*with_special=*/true); }

  FakeTokenizer tokenizer_;
};

TEST_F(RankingPromptTest, IsAPairWithoutATemplate) {
  EXPECT_THAT(Make("", "q", "d"), ElementsAre(kBegin, 'q', kEnd, 'd', kEnd));
}

TEST_F(RankingPromptTest, TellsWhereTheDocumentOfAPairBegins) {
  EXPECT_EQ(Prompt("", "query", "document").document, 7);
  EXPECT_EQ(Prompt("", "query", "document", 9).document, 7) << "cut";
  EXPECT_EQ(Prompt("", "", "document").document, 2);
  EXPECT_EQ(Prompt("{query}{document}", "query", "document").document, std::nullopt);
}

TEST_F(RankingPromptTest, ParsesTheTemplatesTokensAndNoOthers) {
  EXPECT_THAT(Make("<|x|>{query}</s>{document}!", "a", "b"), ElementsAre(kBegin, kMark, 'a', kEnd, 'b', '!'));
  EXPECT_EQ(Text(Make("{document}:{query}", "{document}</s>", "{query}")), "<s>{query}:{document}</s>");
  EXPECT_THAT(Make("{query}{document}", "</s>", "<|x|>"), SizeIs(1 + 4 + 5));
}

TEST_F(RankingPromptTest, CutsTheDocumentAlone) {
  EXPECT_EQ(Text(Make("", "query", "document", 12)), "<s>query</s>docu</s>");
  EXPECT_EQ(Text(Make("{query}-{document}.", "query", "document", 11)), "<s>query-doc.");
  EXPECT_EQ(Text(Make("", "query", "document", 100)), "<s>query</s>document</s>");
  EXPECT_EQ(Text(Make("", "query", "document", 8)), "<s>query</s></s>");
}

TEST_F(RankingPromptTest, CutsBetweenCharacters) {
  const std::string document = "a\u00e9\u20ac\U0001f600z";  // of 1, 2, 3, 4 and 1 bytes
  const std::vector<std::string> expected = {
      "", "a", "a", "a\u00e9", "a\u00e9", "a\u00e9", "a\u00e9\u20ac", "a\u00e9\u20ac"};
  for (size_t bytes = 0; bytes < expected.size(); ++bytes) {
    EXPECT_EQ(Text(Make("{document}", "", document, 1 + bytes)), "<s>" + expected[bytes]) << bytes;
  }
}

TEST_F(RankingPromptTest, IsTooLongWhereTheQueryAloneIs) { EXPECT_THAT(Make("", "query", "document", 5), SizeIs(8)); }

}  // namespace
}  // namespace inferd::worker
