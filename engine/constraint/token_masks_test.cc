#include "engine/constraint/token_masks.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "config/base/status.h"
#include "engine/constraint/gbnf.h"
#include "engine/constraint/json_grammar.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/matcher.h"
#include "engine/sampling/sampling_options.h"

namespace inferd::constraint {
namespace {

// All bytes, and texts across what grammars tell apart. The last two tokens are control tokens.
std::vector<std::string> Vocabulary() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* text :
       {"\",", "\":", "\": ",     "\"}",        "{\"",  "}, {", "true", "false", "null", "12",     "3.5",  "\", \"",
        "ab",  "abc", "\xC3\xA4", "\xC3\xA4\"", "    ", "\n  ", "]]",   "\\n",   "\\u",  "e\": 1", "a\"}", "name"}) {
    tokens.emplace_back(text);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (uint32_t size = 1 + random() % 6; size > 0; --size) text += "{}[]\",: \nabe12-.\\un"[random() % 19];
    tokens.push_back(text);
  }
  return tokens;
}

class TokenMasksTest : public testing::Test {
 protected:
  TokenMasksTest() : tokens_(Vocabulary()), control_(static_cast<int32_t>(tokens_.size())) {
    texts_ = std::make_shared<const sampling::TokenTexts>(control_ + 2, [this](int32_t token, bool with_special) {
      return token < control_ ? tokens_[static_cast<size_t>(token)] : with_special ? "<x>" : "";
    });
    trie_ = std::make_shared<const TokenTrie>(*texts_, std::span<const int32_t>());
  }

  std::shared_ptr<const Program> Compile(const Grammar& grammar) {
    absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(grammar);
    EXPECT_EQ(program.status(), absl::OkStatus());
    return *program;
  }
  std::shared_ptr<const Program> OfSchema(std::string_view schema) {
    Grammar grammar;
    const RuleId root = grammar.AddRule("root");
    grammar.Define(root, *ReadJsonSchema(schema, grammar));
    grammar.set_root(root);
    return Compile(grammar);
  }
  std::shared_ptr<const Program> OfGbnf(std::string_view text) {
    Grammar grammar;
    EXPECT_EQ(ReadGbnf(text, grammar), absl::OkStatus());
    return Compile(grammar);
  }

  // Along a random text, each mask says what trying the tokens one by one says.
  void CheckAgainstBytes(const std::shared_ptr<const Program>& program, int steps, uint32_t seed) {
    Matcher matcher({.masks = std::make_shared<TokenMasks>(program, trie_), .texts = texts_});
    std::mt19937 random(seed);
    for (int step = 0; step < steps && !matcher.complete(); ++step) {
      const absl::StatusOr<Matcher::Allowed> allowed = matcher.Next();
      ASSERT_EQ(allowed.status(), absl::OkStatus());
      std::vector<int32_t> possible;
      for (int32_t token = 0; token < texts_->size(); ++token) {
        const bool taken = matcher.CountAllowed(std::span(&token, 1)) == 1;
        ASSERT_EQ(allowed->tokens->Has(token), taken) << step << " " << texts_->spelled(token);
        if (taken) possible.push_back(token);
      }
      ASSERT_EQ(allowed->tokens->count(), static_cast<int64_t>(possible.size()));
      ASSERT_TRUE(!possible.empty() || allowed->ends);
      if (possible.empty()) break;
      ASSERT_EQ(matcher.Accept(possible[random() % possible.size()]), absl::OkStatus());
    }
  }

  std::vector<std::string> tokens_;
  int32_t control_;
  std::shared_ptr<const sampling::TokenTexts> texts_;
  std::shared_ptr<const TokenTrie> trie_;
};

TEST_F(TokenMasksTest, SaysWhatTheBytesSay) {
  const std::shared_ptr<const Program> programs[] = {
      OfSchema("{}"),
      OfSchema(R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}, "e": {"type": "number"},
                   "list": {"type": "array", "items": {"$ref": "#"}}}, "required": ["name"]})"),
      OfSchema(R"({"type": "string", "minLength": 80, "maxLength": 90})"),
      OfSchema(
          R"({"type": "array", "items": {"type": "integer", "minimum": 5, "maximum": 250}, "minItems": 70, "maxItems": 75})"),
      OfGbnf("root ::= \"a\" root \"a\" | \"a\" root \"b\" | [12]+"),
      OfGbnf("root ::= (\"a\" | \"ab\" | \"abc\"){2,40} \"]\"? item*\nitem ::= [^a]{0,3} \",\"")};
  for (const auto& program : programs) {
    for (uint32_t seed = 0; seed < 6; ++seed) CheckAgainstBytes(program, 40, seed);
  }
}

TEST_F(TokenMasksTest, ControlTokensComeOnlyWhereARuleNamesThem) {
  Grammar grammar;
  const RuleId root = grammar.AddRule("root");
  grammar.Define(root, grammar.Sequence({grammar.Marker(control_), grammar.Star(grammar.Chars(CharSet::Any()))}));
  grammar.set_root(root);
  Matcher matcher({.masks = std::make_shared<TokenMasks>(Compile(grammar), trie_), .texts = texts_});
  EXPECT_EQ((*matcher.Next()).tokens->only(), control_);
  EXPECT_EQ(matcher.Accept('a').code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(matcher.Accept(control_), absl::OkStatus());
  EXPECT_FALSE((*matcher.Next()).tokens->Has(control_));
  EXPECT_FALSE((*matcher.Next()).tokens->Has(control_ + 1));
  EXPECT_TRUE((*matcher.Next()).ends);
}

TEST_F(TokenMasksTest, IsCompleteWhenNothingMoreCanCome) {
  Matcher matcher({.masks = std::make_shared<TokenMasks>(OfGbnf("root ::= \"ab\" [12]?"), trie_), .texts = texts_});
  EXPECT_EQ(matcher.Accept('a'), absl::OkStatus());
  EXPECT_FALSE((*matcher.Next()).ends);
  EXPECT_EQ(matcher.Accept('b'), absl::OkStatus());
  EXPECT_TRUE((*matcher.Next()).ends);
  EXPECT_FALSE(matcher.complete());
  EXPECT_EQ(matcher.Accept('1'), absl::OkStatus());
  EXPECT_TRUE(matcher.complete());
  EXPECT_TRUE((*matcher.Next()).tokens->empty());
}

TEST_F(TokenMasksTest, AnAmbiguousGrammarIsAnErrorNotAStall) {
  Matcher matcher({.masks = std::make_shared<TokenMasks>(
                       OfGbnf("root ::= (((\"a\"{1,9999}){1,9999}){1,9999}){1,9999} \"b\""), trie_),
                   .texts = texts_});
  absl::Status status;
  for (int i = 0; i < 3000 && status.ok(); ++i) {
    status = matcher.Next().status();
    if (status.ok()) status = matcher.Accept('a');
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

TEST_F(TokenMasksTest, StatesComeBackAfterTheMasksForgetThem) {
  const auto masks = std::make_shared<TokenMasks>(OfSchema("{}"), trie_);
  Matcher matcher({.masks = masks, .texts = texts_});
  std::string text;
  // Each level of lists within lists has states of its own.
  for (int i = 0; i < 200; ++i) ASSERT_EQ(matcher.Accept('['), absl::OkStatus());
  const uint64_t epoch = masks->epoch();
  for (int i = 0; i < 3000 && masks->epoch() == epoch; ++i) {
    Matcher other({.masks = masks, .texts = texts_});
    for (int level = 0; level < 1 + i % 250; ++level) (void)other.Accept(i % 2 == 0 ? '[' : '{');
    for (int level = 0; level < 1 + i % 250; ++level) (void)other.Accept('[');
    ASSERT_TRUE(other.Next().ok());
  }
  for (int i = 0; i < 200; ++i) ASSERT_EQ(matcher.Accept(']'), absl::OkStatus());
  EXPECT_TRUE(matcher.complete());
}

TEST(TokenMask, BansAllOthers) {
  constexpr int32_t kSize = 200;
  for (int32_t step : {1, 3, 90}) {
    std::vector<uint64_t> bits((kSize + 63) / 64);
    for (int32_t token = 0; token < kSize; token += step) bits[token / 64] |= uint64_t{1} << (token % 64);
    const TokenMask mask = TokenMask::Of(bits, kSize);
    std::vector<float> logits(kSize, 1.5f);
    const int32_t end = 7;
    mask.Apply(std::span(&end, 1), logits);
    for (int32_t token = 0; token < kSize; ++token) {
      EXPECT_EQ(mask.Has(token), token % step == 0);
      EXPECT_EQ(logits[token], token % step == 0 || token == end ? 1.5f : sampling::kBannedLogit) << token;
    }
  }
}

}  // namespace
}  // namespace inferd::constraint
