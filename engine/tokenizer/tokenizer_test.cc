// What every family must do: special tokens, BOS and EOS, round trips, time, threads.
#include "engine/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine/tokenizer/vocabulary_testing.h"
#include "engine/tokenizer/vocabulary_tokenizer.h"

namespace inferd::tokenizer {
namespace {

using testing::ElementsAre;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> Make(const VocabularyData& data) {
  auto tokenizer = CreateTokenizer(data);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

Ids Encode(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
  const auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.value_or(Ids());
}

Ids EncodeSegments(const Tokenizer& tokenizer, const std::vector<Segment>& segments) {
  const auto ids = tokenizer.EncodeSegments(segments);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.value_or(Ids());
}

constexpr int32_t kHello = 259, kSpaceHello = 260, kBos = 263, kEnd = 264, kTool = 265, kTools = 266, kUser = 267;

TEST(BytePair, MergesInOrderOfRankWithinWords) {
  const TestVocabulary made = BytePairVocabulary();
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "hello hello"), ElementsAre(kHello, kSpaceHello));
  EXPECT_THAT(Encode(*tokenizer, "helo"), ElementsAre(257, 'o'));  // "he l" comes before "l o"
  EXPECT_THAT(Encode(*tokenizer, "aaaaa"), ElementsAre(262, 'a'));
  EXPECT_THAT(Encode(*tokenizer, ""), ElementsAre());
}

TEST(BytePair, TakesWholeWordsFirstWhereTheFamilyDoes) {
  TestVocabulary made = BytePairVocabulary("llama-bpe");
  const int32_t unreachable = made.Add("xyz");
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "xyz"), ElementsAre(unreachable));
  TestVocabulary merging = BytePairVocabulary("gpt-2");
  merging.Add("xyz");
  const auto other = Make(merging.data());
  for (int round = 0; round < 2; ++round) EXPECT_THAT(Encode(*other, "xyz"), ElementsAre('x', 'y', 'z'));
}

TEST(SpecialTokens, AreParsedOnlyWhereAsked) {
  const TestVocabulary made = BytePairVocabulary();
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "hello<|end|>", {.parse_special = true}), ElementsAre(kHello, kEnd));
  EXPECT_THAT(Encode(*tokenizer, "<|end|>"), ElementsAre('<', '|', 'e', 'n', 'd', '|', '>'));
  EXPECT_THAT(Encode(*tokenizer, "hello<tool>hello"), ElementsAre(kHello, kTool, kHello)) << "user-defined: always";
  EXPECT_THAT(Encode(*tokenizer, "<tool>s<tool>"), ElementsAre(kTools, kTool)) << "the longest";
  EXPECT_THAT(Encode(*tokenizer, "<|user|>"), testing::Not(testing::Contains(kUser))) << "the frame of a conversation";
  EXPECT_THAT(Encode(*tokenizer, "<|user|>", {.parse_special = true}), ElementsAre(kUser));
}

TEST(SpecialTokens, ThatFrameAConversationAreNotForUsers) {
  for (const char* frame : {"<|turn>", "<turn|>", "<｜User｜>", "<|user_2|>"}) {
    TestVocabulary made = BytePairVocabulary();
    const int32_t id = made.Add(frame, TokenKind::kUserDefined);
    const auto tokenizer = Make(made.data());
    EXPECT_THAT(Encode(*tokenizer, frame), testing::Not(testing::Contains(id))) << frame;
    EXPECT_THAT(Encode(*tokenizer, frame, {.parse_special = true}), ElementsAre(id)) << frame;
  }
}

TEST(SpecialTokens, OfTheUserAreSpelledInPlainText) {
  TestVocabulary made = BytePairVocabulary();
  const int32_t thorn = made.Add("þ!", TokenKind::kUserDefined);  // þ is the letter of byte 0xFE, too
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "xþ!"), ElementsAre('x', thorn));
  EXPECT_EQ(tokenizer->Decode(Ids{'x', thorn}, true), "xþ!");
}

TEST(SpecialTokens, CountInTrustedSegmentsAlone) {
  const TestVocabulary made = BytePairVocabulary();
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"<|user|>", true}, {"<|end|>", false}, {"<|end|>", true}}),
              ElementsAre(kUser, '<', '|', 'e', 'n', 'd', '|', '>', kEnd));
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"<|e", true}, {"nd|>", false}}),
              ElementsAre('<', '|', 'e', 'n', 'd', '|', '>'))
      << "half of it is a user's";
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"<|e", true}, {"", false}, {"nd|>", true}}), ElementsAre(kEnd));
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"x<tool>", false}}), ElementsAre('x', kTool));
}

TEST(SpecialTokens, LeaveNeighbouringSegmentsOneText) {
  const TestVocabulary made = BytePairVocabulary();
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"hel", true}, {"lo", false}, {" hel", true}, {"lo", true}}),
              ElementsAre(kHello, kSpaceHello));
}

TEST(SpecialTokens, OfPhi3SwallowTheSpaceBehindThem) {
  TestVocabulary made = SentencePairVocabulary();
  const int32_t user = made.Add("<|user|>", TokenKind::kControl);
  VocabularyData data = made.data();
  data.model_name = "Phi-3-mini-4k-instruct";
  EXPECT_EQ(Encode(*Make(data), "<|user|>\n hello", {.parse_special = true}), (Ids{user, 263}));
  data.model_name = "other";
  EXPECT_EQ(Encode(*Make(data), "<|user|>\n", {.parse_special = true}), (Ids{user, 268, 3 + '\n'}));
}

TEST(BosAndEos, AreAddedAsTheFileSaysAndNeverTwice) {
  const TestVocabulary made = BytePairVocabulary();
  VocabularyData data = made.data();
  EXPECT_THAT(Encode(*Make(data), "hello", {.add_special = true}), ElementsAre(kHello)) << "not the family's default";
  data.add_bos = true;
  data.add_eos = true;
  const auto tokenizer = Make(data);
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_THAT(Encode(*tokenizer, "hello", {.add_special = true}), ElementsAre(kBos, kHello, kEnd));
  EXPECT_THAT(Encode(*tokenizer, "", {.add_special = true}), ElementsAre(kBos, kEnd));
  EXPECT_THAT(Encode(*tokenizer, "hello"), ElementsAre(kHello));
  EXPECT_THAT(Encode(*tokenizer, "<s>hello", {.add_special = true, .parse_special = true}),
              ElementsAre(kBos, kHello, kEnd));
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"<s>", true}, {"hello", false}}), ElementsAre(kBos, kHello));
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"hello", false}}), ElementsAre(kBos, kHello));
  EXPECT_THAT(EncodeSegments(*tokenizer, {{"<s>", false}}), ElementsAre(kBos, '<', 's', '>'));
}

TEST(SentencePair, JoinsByScoreAndFallsBackToBytes) {
  const TestVocabulary made = SentencePairVocabulary();
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "hello"), ElementsAre(263));
  EXPECT_THAT(Encode(*tokenizer, "hello hello", {.add_special = true}), ElementsAre(1, 263, 263));
  EXPECT_THAT(Encode(*tokenizer, "é"), ElementsAre(268, 3 + 0xC3, 3 + 0xA9));
  EXPECT_THAT(Encode(*tokenizer, "ab"), ElementsAre(268, 264)) << "the unused token comes out as its parts";
  EXPECT_THAT(Encode(*tokenizer, "<s>"), ElementsAre(268, 275, 276, 277)) << "text spells no control token";
  EXPECT_EQ(tokenizer->Decode(Ids{1, 263, 263}, false), "hello hello");
  EXPECT_EQ(tokenizer->TokenBytes(263, false), " hello");
}

TEST(SentencePair, WritesNoSpaceWhereTheFileSaysSo) {
  const TestVocabulary made = SentencePairVocabulary();
  VocabularyData data = made.data();
  data.add_space_prefix = false;
  const auto tokenizer = Make(data);
  EXPECT_THAT(Encode(*tokenizer, "ab"), ElementsAre(264));
  EXPECT_EQ(tokenizer->Decode(Ids{263}, false), " hello");
}

// An unused token comes out as what it was joined from, which need not be tokens either.
TEST(SentencePair, SpellsThePartsOfAnUnusedTokenByBytesWhereTheyAreNoTokens) {
  TestVocabulary made("llama");
  made.AddSpecialId("unknown", made.Add("<unk>", TokenKind::kUnknown));
  const int32_t bytes = 1;  // id of the first byte token
  made.AddByteTokens();
  const int32_t letter = made.Add("<", TokenKind::kNormal, -1);
  made.Add("<\x13", TokenKind::kUnused, -2);
  VocabularyData data = made.data();
  data.add_space_prefix = false;
  data.add_bos = false;
  EXPECT_THAT(Encode(*Make(data), "<\x13"), ElementsAre(letter, bytes + 0x13));
}

TEST(Unigram, SpellsWithTheLargestSumOfLogProbabilities) {
  TestVocabulary made("t5");
  made.AddSpecialId("unknown", made.Add("<unk>", TokenKind::kUnknown));
  made.AddSpecialId("eos", made.Add("</s>", TokenKind::kControl));
  const int32_t space = made.Add("▁", TokenKind::kNormal, -2);
  const int32_t a = made.Add("a", TokenKind::kNormal, -3);
  const int32_t b = made.Add("b", TokenKind::kNormal, -3);
  const int32_t ab = made.Add("ab", TokenKind::kNormal, -7);        // worse than a and b
  const int32_t aab = made.Add("▁aab", TokenKind::kNormal, -8.5F);  // better than ▁ a a b
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "ab"), ElementsAre(space, a, b));
  EXPECT_THAT(Encode(*tokenizer, "aab  ab "), ElementsAre(aab, space, a, b)) << "extra spaces go";
  EXPECT_THAT(Encode(*tokenizer, "a中文b", {.add_special = true}), ElementsAre(space, a, 0, b, 1)) << "one unknown";
  EXPECT_NE(ab, a);
}

TEST(Unigram, GivesARepeatedWordTheSameTokens) {
  TestVocabulary made("t5");
  made.AddSpecialId("unknown", made.Add("<unk>", TokenKind::kUnknown));
  made.AddSpecialId("eos", made.Add("</s>", TokenKind::kControl));
  const int32_t space = made.Add("▁", TokenKind::kNormal, -2);
  const int32_t a = made.Add("a", TokenKind::kNormal, -3), b = made.Add("b", TokenKind::kNormal, -3);
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "ab ab 中 ab 中中"),
              ElementsAre(space, a, b, space, a, b, space, 0, space, a, b, space, 0));
}

// A vocabulary of few bytes is of use for what it can spell, and for token ids.
class FewBytes : public testing::TestWithParam<const char*> {
 protected:
  explicit FewBytes(bool unknown = false) : made_(GetParam(), "gemma4") {
    if (unknown) made_.AddSpecialId("unknown", made_.Add("<unk>", TokenKind::kUnknown));
    first_ = made_.Add("<0x00>", TokenKind::kByte);
    for (int byte = 1; byte < 128; ++byte) made_.Add(fmt::format("<0x{:02X}>", byte), TokenKind::kByte);
    made_.Add("ü");
    made_.Add("x");
    made_.Add("xü");
    made_.AddMerge("x ü");
    made_.AddSpecialId("bos", first_ + 1);
    made_.AddSpecialId("eos", first_ + 2);
  }
  VocabularyData data() const {
    VocabularyData data = made_.data();
    if (std::string_view(GetParam()) == "gpt2") data.scores.clear();
    data.add_space_prefix = false;
    return data;
  }
  TestVocabulary made_;
  int32_t first_ = 0;
};

TEST_P(FewBytes, NamesTheByteThatNoTokenSpells) {
  const auto tokenizer = Make(data());
  EXPECT_THAT(Encode(*tokenizer, "ab"), ElementsAre('a', 'b'));
  for (const char* text : {"é", "aé", "é a"}) {
    const absl::Status status = tokenizer->Encode(text, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("a token for byte <0xC3>"));
  }
}

class FewBytesAndUnknown : public FewBytes {
 protected:
  FewBytesAndUnknown() : FewBytes(true) {}
};

TEST_P(FewBytesAndUnknown, TakesTheUnknownTokenForTheWholeCharacter) {
  EXPECT_THAT(Encode(*Make(data()), "aéb"), ElementsAre(1 + 'a', 0, 1 + 'b'));
}

INSTANTIATE_TEST_SUITE_P(Families, FewBytes, testing::Values("llama", "t5", "gpt2"));
INSTANTIATE_TEST_SUITE_P(Families, FewBytesAndUnknown, testing::Values("llama", "t5", "gpt2"));

// Expected ids: Hugging Face tokenizers 0.23.3, a BPE model without an unknown token under WhitespaceSplit (and
// Lowercase).
TEST(Whitespace, DropsItAndMergesPlainCharactersBetween) {
  TestVocabulary made("whitespace", "whitespace");
  made.Add("<s>", TokenKind::kControl);
  made.Add("</s>", TokenKind::kControl);
  for (const char* token : {"a", "b", "c", "你", "好", "ab", "abc", "你好", "é", "A", "Ä", "ä"}) made.Add(token);
  for (const char* merge : {"a b", "ab c", "你 好"}) made.AddMerge(merge);
  struct Case {
    std::string_view text;
    std::vector<int32_t> ids, lowercase_ids;
  };
  const Case cases[] = {{"abc  ab\tc\n你好\u3000你 好", {8, 7, 4, 9, 5, 6}, {8, 7, 4, 9, 5, 6}},
                        {"abzc a b", {8, 2, 3}, {8, 2, 3}},
                        {"ABC Äé", {11, 12, 10}, {8, 13, 10}},
                        {"  ", {}, {}},
                        {"\u00a0abc\u2003abcabc", {8, 8, 8}, {8, 8, 8}}};
  for (const bool lowercase : {false, true}) {
    VocabularyData data = made.data();
    data.lowercase = lowercase;
    const auto tokenizer = CreateTokenizer(data);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    for (const Case& c : cases) {
      EXPECT_EQ(*(*tokenizer)->Encode(c.text, {}), lowercase ? c.lowercase_ids : c.ids) << c.text;
    }
    EXPECT_EQ((*tokenizer)->Decode(std::vector<int32_t>{8, 7, 9}, false), "abc ab 你好");
  }
}

TEST(WordPiece, CleansTextAndTakesTheLongestPieces) {
  TestVocabulary made("bert");
  made.AddSpecialId("cls", made.Add("[CLS]", TokenKind::kControl));
  made.AddSpecialId("seperator", made.Add("[SEP]", TokenKind::kControl));
  made.AddSpecialId("unknown", made.Add("[UNK]", TokenKind::kControl));
  const int32_t cafe = made.Add("▁cafe"), s = made.Add("s"), comma = made.Add("▁,"), zhong = made.Add("▁中");
  const auto tokenizer = Make(made.data());
  EXPECT_THAT(Encode(*tokenizer, "Cafés,中\u200bCAFE\u0301", {.add_special = true}),
              ElementsAre(0, cafe, s, comma, zhong, cafe, 1));
  EXPECT_THAT(Encode(*tokenizer,
                     "ca\x0B"
                     "fe\u0085\tcafe\u2028cafe"),
              ElementsAre(cafe, cafe, cafe));
  EXPECT_THAT(Encode(*tokenizer, "cafex cafe"), ElementsAre(2, cafe)) << "a word with an unknown part is unknown";
  EXPECT_THAT(Encode(*tokenizer, "cafe" + std::string(97, 's')), ElementsAre(2)) << "a word of 101 letters is unknown";
  EXPECT_EQ(Encode(*tokenizer, "cafe" + std::string(96, 's')).size(), 97U);
  VocabularyData data = made.data();
  data.lowercase = false;
  EXPECT_THAT(Encode(*Make(data), "cafe Cafe café"), ElementsAre(cafe, 2, 2));
}

// The marks are those of BertProcessing and RobertaProcessing in Hugging Face tokenizers.
TEST(Pairs, HaveTheMarksThatTheFileAsksFor) {
  TestVocabulary bert("bert");
  bert.AddSpecialId("bos", bert.Add("[CLS]", TokenKind::kControl));
  bert.AddSpecialId("seperator", bert.Add("[SEP]", TokenKind::kControl));
  bert.AddSpecialId("unknown", bert.Add("[UNK]", TokenKind::kControl));
  const int32_t a = bert.Add("▁a"), b = bert.Add("▁b");
  const TokenPair pair = *Make(bert.data())->EncodePair("a a", "b [SEP]");
  EXPECT_THAT(pair.ids, ElementsAre(0, a, a, 1, b, 2, 2, 2, 1));
  EXPECT_EQ(pair.second, 4);

  TestVocabulary pieces = SentencePairVocabulary();
  constexpr int32_t kPieceBos = 1, kPieceEos = 2, kPieceHello = 263;
  VocabularyData data = pieces.data();
  data.add_bos = data.add_eos = true;
  const Ids one = {kPieceBos, kPieceHello, kPieceEos, kPieceHello, kPieceEos};
  EXPECT_EQ(Make(data)->EncodePair("hello", "hello")->ids, one);
  pieces.AddSpecialId("seperator", kPieceEos);
  data = pieces.data();
  data.add_bos = data.add_eos = true;
  EXPECT_THAT(Make(data)->EncodePair("hello", "hello")->ids,
              ElementsAre(kPieceBos, kPieceHello, kPieceEos, kPieceEos, kPieceHello, kPieceEos));
  data.add_separator = false;
  EXPECT_EQ(Make(data)->EncodePair("hello", "hello")->ids, one);
  EXPECT_NE(Make(data)->fingerprint(), Make(pieces.data())->fingerprint());
}

TEST(Fingerprint, IsStableAndTellsVocabulariesApart) {
  const TestVocabulary made = BytePairVocabulary();
  const auto tokenizer = Make(made.data());
  EXPECT_EQ(tokenizer->fingerprint(), Make(made.data())->fingerprint());
  EXPECT_EQ(tokenizer->fingerprint(), 8604137816654242438U) << "of this vocabulary on every machine";
  VocabularyData data = made.data();
  data.add_bos = true;
  EXPECT_NE(Make(data)->fingerprint(), tokenizer->fingerprint());
  TestVocabulary more = BytePairVocabulary();
  more.Add("more");
  EXPECT_NE(Make(more.data())->fingerprint(), tokenizer->fingerprint());
  EXPECT_NE(Make(BytePairVocabulary("qwen2").data())->fingerprint(), tokenizer->fingerprint());
}

std::string RandomText(std::mt19937& random) {
  std::string text;
  for (int i = random() % 40; i > 0; --i) {
    const char32_t code_point = random() % 3 == 0 ? random() % 0xD800 : random() % 0x80;
    AppendUtf8(code_point, text);
  }
  return text;
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, GivesBackTextAndBrokenBytes) {
  const bool sentence = std::string_view(GetParam()) == "llama";
  const TestVocabulary made = sentence ? SentencePairVocabulary() : BytePairVocabulary(GetParam());
  const auto tokenizer = Make(made.data());
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text = RandomText(random);
    if (round % 2 == 1 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    if (text.find("\xE2\x96\x81") != std::string::npos) continue;  // SentencePiece's own space
    EXPECT_EQ(tokenizer->Decode(Encode(*tokenizer, text), true), text) << testing::PrintToString(text);
  }
}

// Work that grows with the square of these takes longer than a test program may run.
TEST_P(RoundTrip, TakesLinearTimeOnMonotonousText) {
  const bool sentence = std::string_view(GetParam()) == "llama";
  const TestVocabulary made = sentence ? SentencePairVocabulary() : BytePairVocabulary(GetParam());
  const auto tokenizer = Make(made.data());
  for (const auto& [character, count] :
       {std::pair('a', 131072), {'\n', 50000}, {' ', 131072}, {'<', 131072}, {'1', 131072}}) {
    const std::string text(count, character);
    const Ids ids = Encode(*tokenizer, text);
    EXPECT_EQ(tokenizer->Decode(ids, true), text);
    EXPECT_GT(tokenizer->FewestTokens(text.size()), 0);
    EXPECT_GE(static_cast<int64_t>(ids.size()), tokenizer->FewestTokens(text.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, RoundTrip,
                         testing::Values("gpt-2", "qwen2", "tekken", "deepseek-v3", "falcon", "llama"));

TEST(Threads, ShareATokenizer) {
  const TestVocabulary made = BytePairVocabulary();
  const auto tokenizer = Make(made.data());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        EXPECT_THAT(Encode(*tokenizer, "hello hello helo"), ElementsAre(kHello, kSpaceHello, ' ', 257, 'o'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace inferd::tokenizer
