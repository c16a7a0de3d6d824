#include "engine/tokenizer/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "config/base/status.h"
#include "engine/tokenizer/vocabulary_testing.h"
#include "engine/tokenizer/vocabulary_tokenizer.h"

namespace inferd::tokenizer {
namespace {

using testing::HasSubstr;

struct Fault {
  const char* name;
  std::function<TestVocabulary()> make;
  std::function<void(VocabularyData&)> change;
  const char* message;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

TestVocabulary With(TestVocabulary made, const std::function<void(TestVocabulary&)>& change) {
  change(made);
  return made;
}
TestVocabulary Bytes() { return BytePairVocabulary(); }
TestVocabulary Sentence() { return SentencePairVocabulary(); }
void Nothing(VocabularyData&) {}

class UnsoundVocabulary : public testing::TestWithParam<Fault> {};

TEST_P(UnsoundVocabulary, IsRefusedByTheNameOfItsKey) {
  const TestVocabulary made = GetParam().make();
  VocabularyData data = made.data();
  GetParam().change(data);
  const auto tokenizer = CreateTokenizer(data);
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_THAT(std::string(MessageOf(tokenizer.status())), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, UnsoundVocabulary,
    testing::Values(
        Fault{"no tokens", Bytes, [](VocabularyData& data) { data.tokens = {}; }, "tokenizer.ggml.tokens: 0 tokens"},
        Fault{"twins", [] { return With(Bytes(), [](TestVocabulary& made) { made.Add("hello"); }); }, Nothing,
              "tokenizer.ggml.tokens: tokens 259 and 268 are both \"hello\""},
        Fault{"too few kinds", Bytes, [](VocabularyData& data) { data.kinds.pop_back(); },
              "tokenizer.ggml.token_type: 267 values, expected one for each of 268 tokens"},
        Fault{"kind -1", Bytes, [](VocabularyData& data) { data.kinds[3] = -1; }, "tokenizer.ggml.token_type[3] = -1"},
        Fault{"kind 7", Bytes, [](VocabularyData& data) { data.kinds[3] = 7; }, "tokenizer.ggml.token_type[3] = 7"},
        Fault{"byte -1",
              [] { return With(Sentence(), [](TestVocabulary& made) { made.Add("<0x-1>", TokenKind::kByte); }); },
              Nothing, "tokenizer.ggml.tokens[278] = \"<0x-1>\": a byte token, expected <0x00> to <0xFF>"},
        Fault{"byte of one digit",
              [] { return With(Sentence(), [](TestVocabulary& made) { made.Add("<0x1>", TokenKind::kByte); }); },
              Nothing, "a byte token, expected <0x00> to <0xFF>"},
        Fault{"byte twice",
              [] { return With(Sentence(), [](TestVocabulary& made) { made.Add("<0xab>", TokenKind::kByte); }); },
              Nothing, "both stand for byte 0xab"},
        Fault{"too few scores", Sentence, [](VocabularyData& data) { data.scores.pop_back(); },
              "tokenizer.ggml.scores: 277 values"},
        Fault{"score NaN", Sentence,
              [](VocabularyData& data) { data.scores[5] = std::numeric_limits<float>::quiet_NaN(); },
              "tokenizer.ggml.scores[5]"},
        Fault{"BOS beyond the end", Bytes, [](VocabularyData& data) { data.special_ids[0].id = 268; },
              "tokenizer.ggml.bos_token_id = 268, expected 0 to 267"},
        Fault{"EOS beyond the end", Bytes,
              [](VocabularyData& data) {
                data.special_ids.push_back({"eos", 268});
              },
              "tokenizer.ggml.eos_token_id = 268, expected 0 to 267"},
        Fault{"BOS that is none but asked for", Bytes,
              [](VocabularyData& data) {
                data.special_ids = {{"bos", 0xFFFFFFFF}};
                data.add_bos = true;
              },
              "tokenizer.ggml.bos_token_id: missing"},
        Fault{"BOS asked for but missing", Bytes,
              [](VocabularyData& data) {
                data.special_ids.clear();
                data.add_bos = true;
              },
              "tokenizer.ggml.bos_token_id: missing"},
        Fault{"merge without a space", [] { return With(Bytes(), [](TestVocabulary& made) { made.AddMerge("xy"); }); },
              Nothing, "tokenizer.ggml.merges[7] = \"xy\": expected two tokens"},
        Fault{"merge to no token", [] { return With(Bytes(), [](TestVocabulary& made) { made.AddMerge("x y"); }); },
              Nothing, "tokenizer.ggml.merges[7] = \"x y\": \"xy\" is no token"},
        Fault{"merge of no token", [] { return With(Bytes(), [](TestVocabulary& made) { made.AddMerge("xx y"); }); },
              Nothing, "\"xx\" is no token"},
        Fault{"no merges", Bytes, [](VocabularyData& data) { data.merges = {}; }, "tokenizer.ggml.merges: missing"},
        Fault{"unknown pre-tokenizer", Bytes, [](VocabularyData& data) { data.pre = "gpt-2 phi-2"; },
              "tokenizer.ggml.pre: unknown value \"gpt-2 phi-2\""},
        Fault{"no pre-tokenizer", Bytes, [](VocabularyData& data) { data.pre = ""; }, "tokenizer.ggml.pre: missing"},
        Fault{"unknown model", Bytes, [](VocabularyData& data) { data.model = "rwkv"; },
              "tokenizer.ggml.model: unknown value \"rwkv\""},
        Fault{"unigram without unknown token",
              [] {
                TestVocabulary made("t5");
                made.Add("a");
                return made;
              },
              Nothing, "tokenizer.ggml.unknown_token_id: missing"},
        Fault{"charsmap cut short",
              [] {
                TestVocabulary made("t5");
                made.AddSpecialId("unknown", made.Add("<unk>", TokenKind::kUnknown));
                return made;
              },
              [](VocabularyData& data) {
                constexpr static uint8_t kBytes[] = {8, 0, 0, 0, 1, 2};
                data.charsmap = kBytes;
              },
              "tokenizer.ggml.precompiled_charsmap"}));

struct Oddity {
  const char* name;
  std::function<TestVocabulary()> make;
  std::function<void(VocabularyData&)> change;
  const char* warning;
};

void PrintTo(const Oddity& oddity, std::ostream* out) { *out << oddity.name; }

class OddVocabulary : public testing::TestWithParam<Oddity> {};

TEST_P(OddVocabulary, IsTakenWithAWarning) {
  const TestVocabulary made = GetParam().make();
  VocabularyData data = made.data();
  GetParam().change(data);
  const auto tokenizer = CreateTokenizer(data);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT((*tokenizer)->warnings(), testing::ElementsAre(HasSubstr(GetParam().warning)));
  const auto plain = CreateTokenizer(made.data());
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE((*plain)->warnings().empty());
  EXPECT_EQ(*(*tokenizer)->Encode("b", {}), *(*plain)->Encode("b", {}));
}

void PadWith(VocabularyData& data, std::string_view name, int64_t id) { data.special_ids.push_back({name, id}); }

INSTANTIATE_TEST_SUITE_P(
    Oddities, OddVocabulary,
    testing::Values(Oddity{"padding -1", Bytes, [](VocabularyData& data) { PadWith(data, "padding", -1); },
                           "tokenizer.ggml.padding_token_id = -1 is ignored"},
                    Oddity{"mask 2^32 - 1", Bytes, [](VocabularyData& data) { PadWith(data, "mask", 0xFFFFFFFF); },
                           "tokenizer.ggml.mask_token_id = 4294967295 is ignored"},
                    Oddity{"separator of the vocabulary's size", Bytes,
                           [](VocabularyData& data) { PadWith(data, "seperator", 268); },
                           "tokenizer.ggml.seperator_token_id = 268 is ignored, expected 0 to 267"},
                    Oddity{"no end of message", Bytes, [](VocabularyData& data) { PadWith(data, "eom", -1); },
                           "tokenizer.ggml.eom_token_id = -1 is ignored"},
                    Oddity{"type 0", Bytes, [](VocabularyData& data) { data.kinds[3] = 0; }, "1 tokens of type 0"},
                    Oddity{"no scores", Sentence, [](VocabularyData& data) { data.scores.clear(); },
                           "tokenizer.ggml.scores: missing"}));

TEST(Vocabulary, AcceptsPaddingAndTellsKinds) {
  TestVocabulary made = SentencePairVocabulary();
  made.Add("", TokenKind::kUnused);
  made.Add("", TokenKind::kUnused);
  const auto vocabulary = Vocabulary::Create(made.data());
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->Find(""), -1);
  EXPECT_EQ(vocabulary->Find("▁hello"), 263);
  EXPECT_EQ(vocabulary->byte_token(0xAB), 3 + 0xAB);
  EXPECT_EQ(vocabulary->byte_of(3 + 0xAB), 0xAB);
}

TEST(Vocabulary, FindsRolesBySpellingWhereTheFileGivesNoIds) {
  TestVocabulary made = SentencePairVocabulary();
  VocabularyData data = made.data();
  data.special_ids.clear();
  const auto vocabulary = Vocabulary::Create(data);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->bos(), 1);
  EXPECT_EQ(vocabulary->eos(), 2);
  EXPECT_EQ(vocabulary->unknown(), 0);
}

TEST(Vocabulary, FindsAllThatEndsAGeneration) {
  TestVocabulary made = BytePairVocabulary();
  const int32_t im_end = made.Add("<|im_end|>", TokenKind::kControl);
  const int32_t plain = made.Add("<|eot_id|>");
  const int32_t struck = made.Add("</s>");
  const int32_t eom = made.Add("<stop>", TokenKind::kControl);
  made.AddSpecialId("eom", eom);
  VocabularyData data = made.data();
  const auto vocabulary = Vocabulary::Create(data);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  std::vector<int32_t> ends;
  for (int32_t id = 0; id < vocabulary->size(); ++id) {
    if (vocabulary->ends_generation(id)) ends.push_back(id);
  }
  EXPECT_THAT(ends, testing::ElementsAre(264, im_end, plain, struck, eom));  // </s>, for BOS is <s>
  EXPECT_EQ(vocabulary->kind(plain), TokenKind::kControl);
  data.special_ids[0] = {"bos", 'b'};
  const auto other = Vocabulary::Create(data);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->ends_generation(struck));
}

TEST(Vocabulary, EndOfAPartIsNoEndWhereMessagesReturnOrCall) {
  TestVocabulary made = BytePairVocabulary();
  const int32_t returned = made.Add("<|return|>", TokenKind::kControl);
  const int32_t call = made.Add("<|call|>", TokenKind::kControl);
  VocabularyData data = made.data();
  data.special_ids[1] = {"eos", returned};
  const auto vocabulary = Vocabulary::Create(data);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_TRUE(vocabulary->ends_generation(returned));
  EXPECT_TRUE(vocabulary->ends_generation(call));
  EXPECT_FALSE(vocabulary->ends_generation(264));
}

}  // namespace
}  // namespace inferd::tokenizer
