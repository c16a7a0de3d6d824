// Pages that are not full, or of which a text has only the beginning.
#include <gtest/gtest.h>

#include "engine/cache/testing_cache.h"

namespace inferd::cache {
namespace {

// A sequence of this text that has ended; layer 0's pages are marked from 1 on.
void Leave(const TestCache& cache, std::span<const int32_t> text, const PrefixKey& key = {}) {
  auto sequence = *cache->NewSequence(key);
  ASSERT_TRUE(Grow(*cache, *sequence, text).ok());
  for (int64_t page = 0; page * 64 < static_cast<int64_t>(text.size()); ++page) {
    cache.Mark(*sequence, 0, page, static_cast<uint8_t>(1 + page));
  }
}

TEST(PartialPage, ReusesTheLastPageOfATextThatIsNotFull) {
  auto cache = Make(Layout(), 60);
  const std::vector<int32_t> text = Tokens(200);
  Leave(cache, std::span(text).first(100));
  EXPECT_EQ(cache->CountKnown({}, text), 100);
  auto longer = *cache->NewSequence({}), same = *cache->NewSequence({}),
       other = *cache->NewSequence({.tenant_salt = 1});
  EXPECT_EQ(cache->AttachPrefix(*longer, text), 100);
  EXPECT_EQ(cache->AttachPrefix(*same, std::span(text).first(100)), 99);
  EXPECT_EQ(cache->AttachPrefix(*other, text), 0);
  EXPECT_EQ(cache.MarkOf(*longer, 0, 1), 2);
  const int32_t shared = longer->pages(0)[1];
  EXPECT_EQ(same->pages(0)[1], shared);
  ASSERT_TRUE(cache->Reserve(*longer, 1).ok());
  EXPECT_NE(longer->pages(0)[1], shared) << "written to, and thus copied";
  EXPECT_EQ(cache.MarkOf(*longer, 0, 1), 2);
  EXPECT_EQ(cache->CountKnown({}, text), 100) << "still there for others";
}

TEST(PartialPage, ReusesThePageInWhichTextsPart) {
  auto cache = Make(Layout(), 90);
  std::vector<int32_t> first = Tokens(128), second = first, third = first;
  second[90] = third[90] = -7;
  third[110] = -8;
  Leave(cache, first);
  Leave(cache, second);
  auto sequence = *cache->NewSequence({});
  EXPECT_EQ(cache->CountKnown({}, third), 110);
  EXPECT_EQ(cache->AttachPrefix(*sequence, third), 110);
  ASSERT_TRUE(Grow(*cache, *sequence, std::span(third).subspan(110)).ok());
  auto again = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*again, third), 127) << "its own page by now";
}

TEST(PartialPage, LeavesAFewTokensOfAPageOut) {
  auto cache = Make(Layout(), 60);
  Leave(cache, Tokens(67));
  auto sequence = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*sequence, Tokens(200)), 64);
}

TEST(PartialPage, KeepsTheLongestOfTextsThatGoOn) {
  auto cache = Make(Layout(), 60);
  const std::vector<int32_t> text = Tokens(60);
  for (const size_t length : {20, 40, 60, 30}) Leave(cache, std::span(text).first(length));
  EXPECT_EQ(cache->Stats().blocks_cached, 3) << "one page, of 60 tokens";
  EXPECT_EQ(cache->CountKnown({}, Tokens(100)), 60);
}

TEST(PartialPage, WithoutRoomForACopyTheSharedPageIsTakenOver) {
  auto cache = Make(Layout(), 6);  // two pages of 64 tokens
  const std::vector<int32_t> text = Tokens(128);
  Leave(cache, std::span(text).first(100));
  auto sequence = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*sequence, text), 100);
  const int32_t shared = sequence->pages(0)[1];
  ASSERT_TRUE(Grow(*cache, *sequence, std::span(text).subspan(100)).ok());
  EXPECT_EQ(sequence->pages(0)[1], shared);
  EXPECT_EQ(cache.MarkOf(*sequence, 0, 1), 2);
}

}  // namespace
}  // namespace inferd::cache
