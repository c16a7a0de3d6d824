#include "engine/cache/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "config/base/status.h"

namespace inferd::cache {
namespace {

constexpr int64_t kBlock = 1024;

// Two layers that see everything, one with a window of 100 tokens: a page of 64 tokens takes three blocks.
CacheLayout Layout() {
  return {.groups = {{0, {0, 2}}, {100, {1}}},
          .group_of_layer = {0, 1, 0},
          .page_bytes = {kBlock, kBlock, kBlock},
          .state_bytes = {0, 0, 0}};
}

CacheLayout RecurrentLayout() {
  return {.groups = {{0, {0}}}, .group_of_layer = {0, -1}, .page_bytes = {kBlock, 0}, .state_bytes = {0, 256}};
}

std::unique_ptr<KvCache> Make(CacheLayout layout, int64_t blocks, bool reuse = true, int64_t state_bytes = 0) {
  auto cache = KvCache::Create(
      std::move(layout),
      {.bytes = static_cast<uint64_t>(blocks * kBlock + state_bytes), .max_sequences = 8, .prefix_reuse = reuse});
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *std::move(cache);
}

std::vector<int32_t> Tokens(int64_t n, int32_t seed = 0) {
  std::vector<int32_t> tokens(n);
  for (int64_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(i * 31 + seed);
  return tokens;
}

// Reserves and commits, as a pass does.
absl::Status Grow(KvCache& cache, Sequence& sequence, std::span<const int32_t> tokens) {
  RETURN_IF_ERROR(cache.Reserve(sequence, static_cast<int64_t>(tokens.size())));
  cache.Commit(sequence, tokens);
  return absl::OkStatus();
}

void Mark(const Sequence& sequence, int32_t layer, int64_t page, uint8_t mark) {
  std::memset(const_cast<void*>(sequence.pages(layer)[page]), mark, kBlock);
}
uint8_t MarkOf(const Sequence& sequence, int32_t layer, int64_t page) {
  return *static_cast<const uint8_t*>(sequence.pages(layer)[page]);
}

TEST(KvCache, RefusesAPoolWithoutRoomForOnePage) {
  const auto cache = KvCache::Create(Layout(), {.bytes = 3 * kBlock - 1, .max_sequences = 1});
  ASSERT_FALSE(cache.ok());
  EXPECT_THAT(std::string(MessageOf(cache.status())), testing::HasSubstr("kv_cache.bytes: 3071"));
}

TEST(KvCache, GivesEachLayerItsPages) {
  auto cache = Make(Layout(), 12);
  auto sequence = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *sequence, Tokens(65)).ok());
  EXPECT_EQ(sequence->length(), 65);
  EXPECT_EQ(cache->Stats().blocks_used, 6);
  std::vector<const void*> seen;
  for (int32_t layer = 0; layer < 3; ++layer) {
    for (int64_t page = 0; page < 2; ++page) {
      EXPECT_THAT(seen, testing::Not(testing::Contains(sequence->pages(layer)[page])));
      seen.push_back(sequence->pages(layer)[page]);
    }
  }
}

TEST(KvCache, RefusesWhatDoesNotFitAndChangesNothing) {
  auto cache = Make(Layout(), 12);
  auto sequence = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *sequence, Tokens(100)).ok());
  EXPECT_EQ(cache->Reserve(*sequence, 200).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(sequence->reserved(), 100);
  EXPECT_EQ(cache->Stats().blocks_used, 6);
  EXPECT_TRUE(cache->Reserve(*sequence, 100).ok());
}

TEST(KvCache, GivesEverythingBack) {
  auto cache = Make(Layout(), 30, /*reuse=*/false);
  {
    auto a = *cache->NewSequence({}), b = *cache->NewSequence({});
    ASSERT_TRUE(Grow(*cache, *a, Tokens(200)).ok());
    ASSERT_TRUE(Grow(*cache, *b, Tokens(100, 7)).ok());
    EXPECT_GT(cache->Stats().blocks_used, 0);
  }
  EXPECT_EQ(cache->Stats().blocks_used, 0);
  EXPECT_EQ(cache->Stats().blocks_cached, 0);
  EXPECT_EQ(cache->AvailableBlocks(), 30);
}

TEST(KvCache, LetsGoOfPagesThatAWindowHasPassed) {
  auto cache = Make(Layout(), 60, /*reuse=*/false);
  auto sequence = *cache->NewSequence({});
  for (int64_t length = 1; length <= 640; ++length) {
    ASSERT_TRUE(Grow(*cache, *sequence, Tokens(1)).ok());
    // A query at position `length` sees length - 99 and what follows.
    const int64_t first = std::max<int64_t>(0, length - 99) / 64, pages = (length + 63) / 64;
    for (int64_t page = 0; page < pages; ++page) {
      EXPECT_EQ(sequence->pages(1)[page] == nullptr, page < first) << length << " " << page;
      EXPECT_NE(sequence->pages(0)[page], nullptr);
    }
    EXPECT_EQ(cache->Stats().blocks_used, 2 * pages + (pages - std::min(first, pages)));
  }
}

TEST(KvCache, FindsEqualBeginnings) {
  auto cache = Make(Layout(), 60);
  const std::vector<int32_t> text = Tokens(200);
  auto a = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *a, text).ok());
  auto b = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*b, text), 192);
  EXPECT_EQ(b->length(), 192);
  for (int64_t page = 0; page < 3; ++page) EXPECT_EQ(b->pages(0)[page], a->pages(0)[page]);
  EXPECT_EQ(cache->Stats().prefix_tokens_reused, 192u);
}

TEST(KvCache, NeverReusesAllTokensOfAText) {
  auto cache = Make(Layout(), 60);
  const std::vector<int32_t> text = Tokens(128);
  auto a = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *a, text).ok());
  auto b = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*b, text), 64);
}

TEST(KvCache, StopsAtTheFirstDifferentPage) {
  auto cache = Make(Layout(), 60);
  std::vector<int32_t> text = Tokens(300);
  auto a = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *a, text).ok());
  text[130] = -5;
  auto b = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*b, text), 128);
}

TEST(KvCache, KeepsTenantsAndAdaptersApart) {
  auto cache = Make(Layout(), 60);
  const std::vector<int32_t> text = Tokens(200);
  auto a = *cache->NewSequence({.adapter = 1, .tenant_salt = 2});
  ASSERT_TRUE(Grow(*cache, *a, text).ok());
  for (const PrefixKey& key : {PrefixKey{1, 3}, PrefixKey{2, 2}, PrefixKey{0, 0}, PrefixKey{2, 1}}) {
    auto other = *cache->NewSequence(key);
    EXPECT_EQ(cache->AttachPrefix(*other, text), 0);
  }
  auto same = *cache->NewSequence({.adapter = 1, .tenant_salt = 2});
  EXPECT_EQ(cache->AttachPrefix(*same, text), 192);
}

TEST(KvCache, EvictsTheLeastRecentlyUsed) {
  auto cache = Make(Layout(), 12);  // four pages of 64 tokens
  const std::vector<int32_t> first = Tokens(65, 1), second = Tokens(65, 2), third = Tokens(65, 3);
  for (const auto& text : {first, second}) {
    auto sequence = *cache->NewSequence({});
    ASSERT_TRUE(Grow(*cache, *sequence, text).ok());
  }
  EXPECT_EQ(cache->Stats().blocks_cached, 6);
  {
    auto sequence = *cache->NewSequence({});
    EXPECT_EQ(cache->AttachPrefix(*sequence, first), 64);  // the second is now the oldest
  }
  {
    auto sequence = *cache->NewSequence({});
    ASSERT_TRUE(Grow(*cache, *sequence, Tokens(192, 3)).ok());  // needs three pages, two are free
  }
  EXPECT_EQ(cache->Stats().pages_evicted, 1u);
  auto again = *cache->NewSequence({}), gone = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*again, first), 64);
  EXPECT_EQ(cache->AttachPrefix(*gone, second), 0);
}

TEST(KvCache, EvictsTheEndOfAPrefixBeforeItsBeginning) {
  const std::vector<int32_t> text = Tokens(193);  // three full pages
  for (const int64_t chunk : {193, 65, 1}) {
    auto cache = Make(Layout(), 12);  // four pages of 64 tokens
    {
      auto sequence = *cache->NewSequence({});
      for (int64_t done = 0; done < 193; done += chunk) {
        const int64_t count = std::min<int64_t>(chunk, 193 - done);
        ASSERT_TRUE(Grow(*cache, *sequence, std::span(text).subspan(done, count)).ok());
      }
    }
    EXPECT_EQ(cache->Stats().blocks_cached, 9);
    auto other = *cache->NewSequence({}), again = *cache->NewSequence({});
    ASSERT_TRUE(cache->Reserve(*other, 128).ok());  // needs two pages, one is free
    EXPECT_EQ(cache->Stats().pages_evicted, 1u);
    EXPECT_EQ(cache->AttachPrefix(*again, text), 128) << "computed by " << chunk;
  }
}

TEST(KvCache, ForksShareUntilTheyWrite) {
  auto cache = Make(Layout(), 30);
  auto a = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *a, Tokens(70)).ok());
  Mark(*a, 0, 0, 11);
  Mark(*a, 0, 1, 22);
  const int64_t used = cache->Stats().blocks_used + cache->Stats().blocks_cached;
  auto b = *cache->Fork(*a);
  EXPECT_EQ(b->length(), 70);
  EXPECT_EQ(cache->Stats().blocks_used + cache->Stats().blocks_cached, used);
  ASSERT_TRUE(cache->Reserve(*b, 1).ok());
  EXPECT_EQ(b->pages(0)[0], a->pages(0)[0]);
  EXPECT_NE(b->pages(0)[1], a->pages(0)[1]);
  EXPECT_EQ(MarkOf(*b, 0, 1), 22);
  Mark(*b, 0, 1, 33);
  EXPECT_EQ(MarkOf(*a, 0, 1), 22);
  const void* own = a->pages(0)[1];
  ASSERT_TRUE(cache->Reserve(*a, 1).ok());
  EXPECT_EQ(a->pages(0)[1], own);  // alone again: nothing to copy
}

TEST(KvCache, BoundsTheSequences) {
  auto cache = Make(Layout(), 60);
  std::vector<std::unique_ptr<Sequence>> all;
  for (int i = 0; i < 8; ++i) all.push_back(*cache->NewSequence({}));
  EXPECT_EQ(cache->NewSequence({}).status().code(), absl::StatusCode::kResourceExhausted);
  all.pop_back();
  EXPECT_TRUE(cache->NewSequence({}).ok());
}

TEST(RecurrentCache, StartsFromZeroAndKeepsStatesAtPageEnds) {
  auto cache = Make(RecurrentLayout(), 40, true, 24 * 256);
  const std::vector<int32_t> text = Tokens(200);
  {
    auto a = *cache->NewSequence({});
    auto* state = static_cast<uint8_t*>(a->state(1));
    EXPECT_EQ(a->state(0), nullptr);
    EXPECT_EQ(state[17], 0);
    for (int64_t done = 0; done < 200;) {  // chunks that end at 128, and past it
      const int64_t n = done == 0 ? 128 : 72;
      ASSERT_TRUE(cache->Reserve(*a, n).ok());
      state[17] = static_cast<uint8_t>(done == 0 ? 44 : 55);
      cache->Commit(*a, std::span(text).subspan(done, n));
      done += n;
    }
  }
  auto b = *cache->NewSequence({});
  EXPECT_EQ(static_cast<uint8_t*>(b->state(1))[17], 0);
  EXPECT_EQ(cache->AttachPrefix(*b, text), 128);  // 192 is known too, but no state was kept there
  EXPECT_EQ(static_cast<uint8_t*>(b->state(1))[17], 44);
}

// Random use: no page is lost, and live sequences never share a page that one of them writes.
TEST(KvCache, SurvivesRandomUse) {
  auto cache = Make(Layout(), 90);
  std::mt19937 random(5);
  struct Live {
    std::unique_ptr<Sequence> sequence;
    std::vector<int32_t> tokens;
  };
  std::vector<Live> live;
  for (int step = 0; step < 4000; ++step) {
    const uint32_t what = random() % 10;
    if (what == 0 && live.size() < 8) {
      Live next{*cache->NewSequence({}),
                Tokens(static_cast<int64_t>(random() % 200 + 1), static_cast<int32_t>(random() % 3))};
      const int64_t reused = cache->AttachPrefix(*next.sequence, next.tokens);
      EXPECT_LT(reused, static_cast<int64_t>(next.tokens.size()));
      if (Grow(*cache, *next.sequence, std::span(next.tokens).subspan(reused)).ok()) live.push_back(std::move(next));
    } else if (what == 1 && !live.empty() && live.size() < 8) {
      const Live& from = live[random() % live.size()];
      live.push_back({*cache->Fork(*from.sequence), from.tokens});
    } else if (what == 2 && !live.empty()) {
      live.erase(live.begin() + random() % live.size());
    } else if (!live.empty()) {
      Live& l = live[random() % live.size()];
      std::vector<int32_t> more = Tokens(random() % 40 + 1, static_cast<int32_t>(l.tokens.size()));
      if (!cache->Reserve(*l.sequence, static_cast<int64_t>(more.size())).ok()) {
        live.erase(live.begin());
        continue;
      }
      const int64_t page = l.sequence->length() / 64;
      for (const Live& other : live) {
        if (&other == &l || other.sequence->reserved() <= page * 64) continue;
        EXPECT_NE(other.sequence->pages(0)[page], l.sequence->pages(0)[page]);
      }
      cache->Commit(*l.sequence, more);
      l.tokens.insert(l.tokens.end(), more.begin(), more.end());
    }
  }
  live.clear();
  EXPECT_EQ(cache->Stats().blocks_used, 0);
  EXPECT_EQ(cache->AvailableBlocks(), 90);
  cache->DropPrefixes();
  EXPECT_EQ(cache->Stats().blocks_cached, 0);
  EXPECT_EQ(cache->Stats().sequences, 0);
}

}  // namespace
}  // namespace inferd::cache
