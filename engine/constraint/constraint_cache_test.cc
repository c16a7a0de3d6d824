#include "engine/constraint/constraint_cache.h"

#include <gtest/gtest.h>

#include "config/base/status.h"
#include "engine/constraint/answer_constraint.h"

namespace inferd::constraint {
namespace {

class ConstraintCacheTest : public testing::Test {
 protected:
  // The digits alone; the last ends a generation, though it has a text.
  ConstraintCacheTest()
      : cache_(
            std::make_shared<const sampling::TokenTexts>(10, [](int32_t token, bool) { return std::to_string(token); }),
            end_) {}

  absl::StatusOr<Constraint> Get(const std::string& regex) {
    ConstraintSource source = SourceOf({.kind = OutputKind::kRegex, .text = regex});
    return cache_.Get({.key = source.key, .compile = [this, source] {
                         ++compiled_;
                         return source.compile();
                       }});
  }

  const std::vector<int32_t> end_ = {9};
  ConstraintCache cache_;
  int compiled_ = 0;
};

TEST_F(ConstraintCacheTest, GivesTheSameForTheSame) {
  const absl::StatusOr<Constraint> first = Get("[0-9]+"), again = Get("[0-9]+"), other = Get("[0-8]+");
  EXPECT_EQ(first->masks, again->masks);
  EXPECT_NE(first->masks, other->masks);
  EXPECT_EQ(compiled_, 2);
}

TEST_F(ConstraintCacheTest, KeepsThoseThatWereUsedLast) {
  Get("[0-9]+").IgnoreError();
  for (size_t i = 1; i < ConstraintCache::kMostEntries; ++i) Get(fmt::format("1{{{}}}", i)).IgnoreError();
  Get("[0-9]+").IgnoreError();
  Get("5+").IgnoreError();
  compiled_ = 0;
  Get("[0-9]+").IgnoreError();
  EXPECT_EQ(compiled_, 0);
  Get("1{1}").IgnoreError();
  EXPECT_EQ(compiled_, 1);
}

TEST_F(ConstraintCacheTest, SaysThatTheVocabularyCannotSpellIt) {
  EXPECT_EQ(MessageOf(Get("x").status()), "constraint: no token of the vocabulary begins a text that it allows");
  EXPECT_EQ(Get("(x").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Get("x?").ok()) << "the empty text";
}

TEST_F(ConstraintCacheTest, ATokenThatEndsAGenerationIsNoText) {
  Matcher matcher(*Get("[0-9]+"));
  const TokenMask& mask = *(*matcher.Next()).tokens;
  EXPECT_TRUE(mask.Has(8));
  EXPECT_FALSE(mask.Has(9));
}

}  // namespace
}  // namespace inferd::constraint
