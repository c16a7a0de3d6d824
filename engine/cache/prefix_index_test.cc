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

TEST(PrefixIndex, APlaceIsTakenOnce) {
  PrefixIndex index({1, 2});
  ASSERT_NE(index.Insert(7, Page(0), {}), nullptr);
  EXPECT_EQ(index.Insert(7, Page(0), {}), nullptr);
  EXPECT_EQ(index.size(), 1);
}

}  // namespace
}  // namespace inferd::cache
