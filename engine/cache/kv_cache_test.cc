#include "engine/cache/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "config/base/status.h"
#include "engine/cache/testing_cache.h"

namespace inferd::cache {
namespace {

TEST(KvCache, RefusesAPoolWithoutRoomForOnePage) {
  HostPageMemory memory;
  const auto cache = KvCache::Create(Layout(), {.bytes = 3 * kBlock - 1, .max_sequences = 1}, memory);
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
      EXPECT_THAT(seen, testing::Not(testing::Contains(cache.Page(*sequence, layer, page))));
      seen.push_back(cache.Page(*sequence, layer, page));
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
      EXPECT_EQ(sequence->pages(1)[page] < 0, page < first) << length << " " << page;
      EXPECT_GE(sequence->pages(0)[page], 0);
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

// A device that keeps a sequence's page table from pass to pass needs what is behind them alone.
TEST(KvCache, SaysWhichPagesAreNew) {
  auto cache = Make(Layout(), 30);
  auto a = *cache->NewSequence({});
  ASSERT_TRUE(cache->Reserve(*a, 100).ok());
  EXPECT_EQ(a->known_pages(0), 0);
  cache->Commit(*a, Tokens(100));
  EXPECT_EQ(a->known_pages(0), 2);
  ASSERT_TRUE(cache->Reserve(*a, 60).ok());
  EXPECT_EQ(a->pages(0).size(), 3u);
  EXPECT_EQ(a->known_pages(0), 2) << "the third page is new";
  cache->Commit(*a, Tokens(60));
  EXPECT_EQ(a->known_pages(0), 3);
  auto b = *cache->Fork(*a);
  EXPECT_NE(b->number(), a->number());
  EXPECT_EQ(b->known_pages(0), 0);
  ASSERT_TRUE(cache->Reserve(*a, 1).ok());
  EXPECT_EQ(a->known_pages(0), 2) << "the third page was shared, and is a copy now";
}

TEST(KvCache, NeverReusesAllTokensOfAText) {
  auto cache = Make(Layout(), 60);
  const std::vector<int32_t> text = Tokens(128);
  auto a = *cache->NewSequence({});
  ASSERT_TRUE(Grow(*cache, *a, text).ok());
  auto b = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*b, text), 127);
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
  cache.Mark(*a, 0, 0, 11);
  cache.Mark(*a, 0, 1, 22);
  const int64_t used = cache->Stats().blocks_used + cache->Stats().blocks_cached;
  auto b = *cache->Fork(*a);
  EXPECT_EQ(b->length(), 70);
  EXPECT_EQ(cache->Stats().blocks_used + cache->Stats().blocks_cached, used);
  ASSERT_TRUE(cache->Reserve(*b, 1).ok());
  EXPECT_EQ(b->pages(0)[0], a->pages(0)[0]);
  EXPECT_NE(b->pages(0)[1], a->pages(0)[1]);
  EXPECT_EQ(cache.MarkOf(*b, 0, 1), 22);
  cache.Mark(*b, 0, 1, 33);
  EXPECT_EQ(cache.MarkOf(*a, 0, 1), 22);
  const int32_t own = a->pages(0)[1];
  ASSERT_TRUE(cache->Reserve(*a, 1).ok());
  EXPECT_EQ(a->pages(0)[1], own);  // alone again: nothing to copy
}

TEST(KvCache, LayersWithAWindowNeedTheirWindowsPagesAlone) {
  CacheLayout layout{.groups = {{0, {0}}, {128, {1, 2, 3, 4, 5}}},
                     .page_bytes = std::vector<int64_t>(6, kBlock),
                     .state_bytes = std::vector<int64_t>(6, 0)};
  const TestCache cache(layout, {.bytes = 100 * kBlock, .max_sequences = 1, .step_tokens = 32});
  // 128 - 1 + 32 tokens lie in at most 4 pages: 5 layers of them, and one layer that keeps all.
  EXPECT_EQ(cache->BlocksFor(64), 6);
  EXPECT_EQ(cache->BlocksFor(256), 24);
  EXPECT_EQ(cache->BlocksFor(64 * 80), 80 + 5 * 4);
  auto sequence = *cache->NewSequence({});
  int64_t most = 0;
  for (int64_t count = 1; sequence->length() < 64 * 80; count = count % 32 + 1) {
    const std::vector<int32_t> tokens = Tokens(std::min(count, 64 * 80 - sequence->length()));
    ASSERT_TRUE(cache->Reserve(*sequence, static_cast<int64_t>(tokens.size())).ok()) << sequence->length();
    most = std::max(most, cache->Stats().blocks_used);
    cache->Commit(*sequence, tokens);
  }
  EXPECT_LE(most, cache->BlocksFor(64 * 80));
  EXPECT_GT(most, cache->BlocksFor(64 * 79)) << "the bound is not loose";
  EXPECT_EQ(sequence->length(), 64 * 80);
}

TEST(KvCache, TellsTheBytesOfItsPagesAndOfTheStatesBesideThem) {
  struct Case {
    CacheLayout layout;
    uint64_t bytes;
    bool reuse;
    int64_t block_bytes, blocks, state_bytes;
  };
  // A block has room for the largest layer's page, in whole cache lines. Of states there are those of 8 sequences, and
  // 16 kept ones.
  const Case cases[] = {
      {Layout(), 10 * kBlock + 1023, true, kBlock, 10, 0},
      {{.groups = {{0, {0}}, {64, {1}}}, .page_bytes = {100, 200}, .state_bytes = {0, 0}}, 1000, true, 256, 3, 0},
      {RecurrentLayout(), 24 * 256 + 5 * kBlock, true, kBlock, 5, 24 * 256},
      {RecurrentLayout(), 24 * 256 + 5 * kBlock, false, kBlock, 9, 8 * 256},
      {{.groups = {}, .page_bytes = {0, 0}, .state_bytes = {100, 256}}, 24 * 384, true, 0, 0, 24 * 384},
  };
  for (const Case& c : cases) {
    const TestCache cache(c.layout, {.bytes = c.bytes, .max_sequences = 8, .prefix_reuse = c.reuse});
    const CacheStats stats = cache->Stats();
    EXPECT_EQ(stats.block_bytes, c.block_bytes);
    EXPECT_EQ(stats.blocks_total, c.blocks);
    EXPECT_EQ(stats.state_bytes, c.state_bytes);
    EXPECT_LE(stats.blocks_total * stats.block_bytes + stats.state_bytes, static_cast<int64_t>(c.bytes));
  }
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
    uint8_t* const state = cache.State(*a, 1);
    EXPECT_EQ(cache.State(*a, 0), nullptr);
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
  EXPECT_EQ(cache.State(*b, 1)[17], 0);
  EXPECT_EQ(cache->AttachPrefix(*b, text), 128);  // 192 is known too, but no state was kept there
  EXPECT_EQ(cache.State(*b, 1)[17], 44);
}

int32_t& TokenAt(const TestCache& cache, const Sequence& sequence, int64_t position) {
  return reinterpret_cast<int32_t*>(cache.Page(sequence, 0, position / 64))[position % 64];
}

// As Grow; layer 0's pages get the tokens.
absl::Status Write(const TestCache& cache, Sequence& sequence, std::span<const int32_t> tokens) {
  RETURN_IF_ERROR(cache->Reserve(sequence, static_cast<int64_t>(tokens.size())));
  for (size_t i = 0; i < tokens.size(); ++i) {
    TokenAt(cache, sequence, sequence.length() + static_cast<int64_t>(i)) = tokens[i];
  }
  cache->Commit(sequence, tokens);
  return absl::OkStatus();
}

// Random use: no page is lost, and each sequence reads its own tokens, whoever else has had its pages.
TEST(KvCache, SurvivesRandomUse) {
  auto cache = Make(Layout(), 90);
  std::mt19937 random(5);
  struct Live {
    std::unique_ptr<Sequence> sequence;
    std::vector<int32_t> tokens;
  };
  std::vector<Live> live;
  uint64_t parts_of_pages = 0;
  for (int step = 0; step < 20000; ++step) {
    const uint32_t what = random() % 10;
    if (what < 2 && live.size() < 8) {
      Live next{*cache->NewSequence({}),
                Tokens(static_cast<int64_t>(random() % 200 + 1), static_cast<int32_t>(random() % 3))};
      const size_t different = random() % next.tokens.size();
      if (random() % 2 == 0) next.tokens[different] = static_cast<int32_t>(random() % 5);
      const int64_t known = cache->CountKnown({}, next.tokens),
                    reused = cache->AttachPrefix(*next.sequence, next.tokens);
      EXPECT_EQ(reused, known);
      EXPECT_LT(reused, static_cast<int64_t>(next.tokens.size()));
      parts_of_pages += reused % 64 != 0 ? 1 : 0;
      if (Write(cache, *next.sequence, std::span(next.tokens).subspan(reused)).ok()) live.push_back(std::move(next));
    } else if (what == 2 && !live.empty() && live.size() < 8) {
      const Live& from = live[random() % live.size()];
      live.push_back({*cache->Fork(*from.sequence), from.tokens});
    } else if (what == 3 && !live.empty()) {
      live.erase(live.begin() + random() % live.size());
    } else if (!live.empty()) {
      Live& l = live[random() % live.size()];
      const std::vector<int32_t> more = Tokens(random() % 40 + 1, static_cast<int32_t>(random() % 3));
      if (!Write(cache, *l.sequence, more).ok()) {
        live.erase(live.begin());
        continue;
      }
      l.tokens.insert(l.tokens.end(), more.begin(), more.end());
    }
    if (live.empty()) continue;
    const Live& l = live[random() % live.size()];
    for (int64_t i = 0; i < l.sequence->length(); ++i)
      ASSERT_EQ(TokenAt(cache, *l.sequence, i), l.tokens[i]) << "step " << step;
  }
  EXPECT_GT(parts_of_pages, 100u) << "the texts had too little in common to test anything";
  live.clear();
  EXPECT_EQ(cache->Stats().blocks_used, 0);
  EXPECT_EQ(cache->AvailableBlocks(), 90);
  cache->DropPrefixes();
  EXPECT_EQ(cache->Stats().blocks_cached, 0);
  EXPECT_EQ(cache->Stats().sequences, 0);
}

}  // namespace
}  // namespace inferd::cache
