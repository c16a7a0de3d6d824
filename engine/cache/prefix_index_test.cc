#include "engine/cache/prefix_index.h"

#include <gtest/gtest.h>

#include <numeric>

namespace inferd::cache {
namespace {

// The example of the paper's appendix A.
TEST(SipHash, GivesThePapersExample) {
  const SipKey key = {0x0706050403020100u, 0x0F0E0D0C0B0A0908u};
  std::array<uint8_t, 15> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  EXPECT_EQ(SipHash(key, bytes), 0xA129CA6149BE45E5u);
}

TEST(SipHash, EachLengthIsItsOwnText) {
  const std::array<uint8_t, 16> zeros = {};
  for (size_t a = 0; a < 16; ++a) {
    for (size_t b = a + 1; b <= 16; ++b) {
      EXPECT_NE(SipHash({1, 2}, std::span(zeros).first(a)), SipHash({1, 2}, std::span(zeros).first(b)));
    }
  }
}

std::vector<int32_t> Page(int32_t first) {
  std::vector<int32_t> tokens(64);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

// Without the secret nobody knows two texts of one hash.
TEST(PrefixIndex, HashesDependOnTheSecret) {
  const PrefixIndex a({1, 2}), same({1, 2}), b({1, 3}), c({2, 2});
  EXPECT_EQ(a.Extend(a.Root({}), Page(0)), same.Extend(same.Root({}), Page(0)));
  for (const PrefixIndex* other : {&b, &c}) {
    EXPECT_NE(a.Root({}), other->Root({}));
    EXPECT_NE(a.Extend(7, Page(0)), other->Extend(7, Page(0)));
  }
}

TEST(PrefixIndex, AHashDependsOnEveryTokenAndOnThoseBefore) {
  const PrefixIndex index({1, 2});
  const uint64_t hash = index.Extend(7, Page(0));
  for (size_t i = 0; i < 64; ++i) {
    std::vector<int32_t> other = Page(0);
    other[i] ^= 1;
    EXPECT_NE(index.Extend(7, other), hash) << i;
  }
  EXPECT_NE(index.Extend(8, Page(0)), hash);
  EXPECT_NE(index.Root({.adapter = 1}), index.Root({.tenant_salt = 1}));
}

TEST(PrefixIndex, FindsTheLongestBeginningAfterAParentAlone) {
  PrefixIndex index({1, 2});
  const uint64_t root = index.Root({}), other = index.Root({.tenant_salt = 1});
  std::vector<int32_t> early = Page(0), late = Page(0);
  early[20] = -1;
  late[40] = 1000;
  for (const auto& tokens : {early, late}) ASSERT_NE(index.Insert(root, tokens, {}), nullptr);
  ASSERT_NE(index.Insert(other, Page(0), {}), nullptr);
  EXPECT_EQ(index.FindLongest(root, Page(0)).tokens, 40);
  EXPECT_EQ(index.FindLongest(root, std::span(late).first(30)).tokens, 30);
  EXPECT_EQ(index.FindLongest(root, early).tokens, 64);
  EXPECT_EQ(index.FindLongest(root, Page(1)).node, nullptr);
  EXPECT_EQ(index.FindLongest(index.Root({.adapter = 9}), Page(0)).node, nullptr);
  index.Erase(*index.Find(root, late));
  EXPECT_EQ(index.FindLongest(root, Page(0)).tokens, 20);
}

// Pages without a state, shorter and longer ones and those that part lie between.
TEST(PrefixIndex, FindsTheLongestEndThatATextContainsAndThatHasAState) {
  PrefixIndex index({1, 2});
  const uint64_t root = index.Root({});
  const std::vector<int32_t> text = Page(0);
  struct Kept {
    size_t tokens;
    int32_t last;  // that differs from the text's, or 0
    bool state;
  };
  for (const Kept kept :
       {Kept{10, 0, true}, Kept{20, 0, true}, Kept{30, 0, false}, Kept{40, 0, true}, Kept{25, -1, true},
        Kept{28, 99, true}, Kept{35, -1, true}, Kept{50, 99, true}, Kept{64, 0, false}}) {
    std::vector<int32_t> tokens(text.begin(), text.begin() + static_cast<int64_t>(kept.tokens));
    if (kept.last != 0) tokens.back() = kept.last;
    index.SetState(*index.Insert(root, tokens, {}), kept.state ? 1 : -1);
  }
  for (size_t tokens = 0; tokens <= 64; ++tokens) {
    const int64_t expected = tokens > 40 ? 40 : tokens > 20 ? 20 : tokens > 10 ? 10 : 0;
    EXPECT_EQ(index.FindBeginning(root, std::span(text).first(tokens), true).tokens, expected) << tokens;
    EXPECT_EQ(index.CountKnown({}, std::span(text).first(tokens), true), expected) << tokens;
  }
  std::vector<int32_t> longer = text, other = text;
  longer.insert(longer.end(), 40, 7);
  EXPECT_EQ(index.FindBeginning(root, longer, true).tokens, 40) << "the whole page has no state";
  other[38] = 98;
  EXPECT_EQ(index.FindBeginning(root, other, true).tokens, 20);
  EXPECT_EQ(index.FindBeginning(index.Root({.adapter = 1}), text, true).tokens, 0);
}

TEST(PrefixIndex, AStateIsMissedLeastBetweenTheFirstOfATextAndItsLast) {
  PrefixIndex index({1, 2});
  std::vector<PrefixIndex::Node*> pages;
  for (const int32_t page : {0, 1, 2}) {
    pages.push_back(index.Insert(pages.empty() ? index.Root({}) : pages.back()->chain, Page(page), {}));
  }
  PrefixIndex::Node* const other = index.Insert(pages[0]->chain, Page(9), {});
  EXPECT_EQ(index.LeastState(), nullptr);
  for (PrefixIndex::Node* node : {pages[0], pages[1], pages[2], other}) index.SetState(*node, 1);
  index.TouchChain(pages[2]->chain);
  index.TouchChain(other->chain);
  EXPECT_EQ(index.LeastState(), pages[1]);
  index.SetState(*pages[1], -1);
  EXPECT_EQ(index.LeastState(), pages[2]) << "the first page serves the other text, which was used since";
  index.SetState(*pages[2], -1);
  EXPECT_EQ(index.LeastState(), pages[0]) << "before the other's last";
  index.SetState(*pages[0], -1);
  EXPECT_EQ(index.LeastState(), other);
}

TEST(PrefixIndex, APlaceIsTakenOnce) {
  PrefixIndex index({1, 2});
  ASSERT_NE(index.Insert(7, Page(0), {}), nullptr);
  EXPECT_EQ(index.Insert(7, Page(0), {}), nullptr);
  EXPECT_EQ(index.size(), 1);
}

}  // namespace
}  // namespace inferd::cache
