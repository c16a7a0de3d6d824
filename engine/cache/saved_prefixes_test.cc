#include "engine/cache/saved_prefixes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/cache/memory_stream.h"
#include "engine/cache/testing_cache.h"

namespace inferd::cache {
namespace {

using testing::HasSubstr;

constexpr std::string_view kIdentity = "model 1";

std::vector<uint8_t> Save(KvCache& cache, int64_t most_bytes = 1 << 30) {
  MemorySink sink;
  const auto saved = cache.SavePrefixes(kIdentity, most_bytes, sink);
  EXPECT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->bytes, static_cast<int64_t>(sink.bytes.size()));
  return sink.bytes;
}

absl::StatusOr<SavedPrefixes> Load(KvCache& cache, std::span<const uint8_t> bytes,
                                   std::string_view identity = kIdentity) {
  MemorySource source(bytes);
  return cache.LoadPrefixes(identity, source, [] { return false; });
}

// A text whose pages are marked with `mark` and its index.
void Compute(const TestCache& cache, const std::vector<int32_t>& tokens, uint8_t mark, PrefixKey key = {}) {
  const auto sequence = *cache->NewSequence(key);
  ASSERT_TRUE(cache->Reserve(*sequence, static_cast<int64_t>(tokens.size())).ok());
  for (int64_t page = 0; page < static_cast<int64_t>((tokens.size() + 63) / 64); ++page) {
    for (int32_t layer : {0, 1, 2}) {
      cache.Mark(*sequence, layer, page, static_cast<uint8_t>(mark + page + 50 * layer));
    }
  }
  cache->Commit(*sequence, tokens);
}

int64_t Known(KvCache& cache, const std::vector<int32_t>& tokens, PrefixKey key = {}) {
  std::vector<int32_t> longer = tokens;
  longer.push_back(-7);
  return cache.CountKnown(key, longer);
}

TEST(SavedPrefixes, TextsAreKnownAgainWithTheirValues) {
  const auto before = Make(Layout(), 40);
  const PrefixKey tenant{.tenant_salt = before->SaltOf("tenant")};
  Compute(before, Tokens(150), 1);
  Compute(before, Tokens(70, 5), 9, tenant);
  const auto after = Make(Layout(), 40);
  EXPECT_NE(after->SaltOf("tenant"), tenant.tenant_salt) << "each cache has a secret of its own";
  const auto loaded = Load(*after, Save(*before));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->pages, 5);
  EXPECT_EQ(loaded->tokens, 220);
  EXPECT_EQ(after->SaltOf("tenant"), tenant.tenant_salt) << "until it takes over that of the file";
  EXPECT_EQ(Known(*after, Tokens(150)), 150) << "the last page is not full";
  EXPECT_EQ(Known(*after, Tokens(70, 5), tenant), 70);
  EXPECT_EQ(Known(*after, Tokens(70, 5)), 0) << "another tenant's";

  const auto sequence = *after->NewSequence({});
  std::vector<int32_t> longer = Tokens(151);
  ASSERT_EQ(after->AttachPrefix(*sequence, longer), 150);
  for (int64_t page = 0; page < 3; ++page) {
    for (int32_t layer : {0, 1, 2}) {
      if (after.Page(*sequence, layer, page) == nullptr) continue;  // before the window
      EXPECT_EQ(after.MarkOf(*sequence, layer, page), 1 + page + 50 * layer);
    }
  }
  ASSERT_TRUE(Grow(*after, *sequence, Tokens(64, 3)).ok());
}

TEST(SavedPrefixes, AllPagesAreGivenBack) {
  const auto before = Make(Layout(), 40);
  Compute(before, Tokens(150), 1);
  const auto after = Make(Layout(), 40);
  ASSERT_TRUE(Load(*after, Save(*before)).ok());
  EXPECT_EQ(after->Stats().blocks_cached, 9);
  EXPECT_EQ(after->Stats().blocks_used, 0);
  after->DropPrefixes();
  EXPECT_EQ(after->AvailableBlocks(), 40);
  EXPECT_EQ(after->Stats().blocks_cached, 0);
}

TEST(SavedPrefixes, TheMostRecentlyUsedFitFirst) {
  const auto before = Make(Layout(), 60);
  Compute(before, Tokens(128, 1), 1);
  Compute(before, Tokens(128, 2), 2);
  Compute(before, Tokens(128, 3), 3);
  EXPECT_EQ(Known(*before, Tokens(128, 1)), 128);
  Compute(before, Tokens(128, 1), 1);  // used again
  const std::vector<uint8_t> all = Save(*before);
  const auto half = Save(*before, static_cast<int64_t>(all.size()) / 2 + 100);
  EXPECT_LE(half.size(), all.size() / 2 + 100);
  const auto after = Make(Layout(), 60);
  ASSERT_EQ(Load(*after, half)->pages, 3);
  EXPECT_EQ(Known(*after, Tokens(128, 1)), 128);
  EXPECT_EQ(Known(*after, Tokens(128, 3)), 64) << "of one text its beginning first";
  EXPECT_EQ(Known(*after, Tokens(128, 2)), 0);

  const auto small = Make(Layout(), 4 * 3);  // room for four pages
  EXPECT_EQ(Load(*small, all)->pages, 4);
  EXPECT_EQ(Known(*small, Tokens(128, 1)), 128);
  EXPECT_EQ(Known(*small, Tokens(128, 3)), 128);
  // The order of use is as before: what was used least goes first.
  Compute(small, Tokens(64, 9), 9);
  EXPECT_EQ(Known(*small, Tokens(128, 1)), 128);
  EXPECT_EQ(Known(*small, Tokens(128, 3)), 64);
}

TEST(SavedPrefixes, RecurrentStatesComeBackAtAPagesEndAndAtATextsEnd) {
  const auto make = [] { return Make(RecurrentLayout(), 10, true, /*state_bytes=*/24 * 256); };
  const auto before = make();
  const std::vector<int32_t> text = Tokens(100);
  {
    const auto sequence = *before->NewSequence({});
    ASSERT_TRUE(before->Reserve(*sequence, 64).ok());
    std::memset(before.State(*sequence, 1), 0x5A, 256);
    before->Commit(*sequence, Tokens(64));
    ASSERT_TRUE(before->Reserve(*sequence, 36).ok());
    before.Mark(*sequence, 0, 1, 0x77);
    std::memset(before.State(*sequence, 1), 0x6B, 256);
    before->Commit(*sequence, std::span(text).subspan(64));
  }
  const std::vector<uint8_t> bytes = Save(*before);
  const auto after = make();
  ASSERT_EQ(Load(*after, bytes)->pages, 2);
  const auto sequence = *after->NewSequence({}), longer = *after->NewSequence({});
  ASSERT_EQ(after->AttachPrefix(*sequence, Tokens(65)), 64);
  EXPECT_EQ(*after.State(*sequence, 1), 0x5A);
  ASSERT_EQ(after->AttachPrefix(*longer, Tokens(101)), 100);
  EXPECT_EQ(*after.State(*longer, 1), 0x6B);
  EXPECT_EQ(after.MarkOf(*longer, 0, 1), 0x77);

  std::vector<uint8_t> spoilt = bytes;
  for (size_t i = spoilt.size() - 500; i < spoilt.size(); i += 7) {  // the state at the text's end, and what follows
    spoilt[i] ^= 1;
    const auto other = make();
    EXPECT_FALSE(Load(*other, spoilt).ok()) << i;
    EXPECT_EQ(Known(*other, Tokens(100)), 0);
    spoilt[i] ^= 1;
  }
}

TEST(SavedPrefixes, AnotherModelsOrLayoutsAreRefused) {
  const auto before = Make(Layout(), 40);
  Compute(before, Tokens(150), 1);
  const std::vector<uint8_t> bytes = Save(*before);
  const auto after = Make(Layout(), 40);
  const absl::Status other = Load(*after, bytes, "model 2").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(other), HasSubstr("saved by \"model 1\", this is \"model 2\""));
  CacheLayout layout = Layout();
  layout.groups[1].window = 90;
  EXPECT_THAT(MessageOf(Load(*Make(layout, 40), bytes).status()), HasSubstr("another layout"));
  EXPECT_EQ(Known(*after, Tokens(150)), 0);
}

TEST(SavedPrefixes, ATornStreamLeavesNothing) {
  const auto before = Make(Layout(), 40);
  Compute(before, Tokens(150), 1);
  const std::vector<uint8_t> bytes = Save(*before);
  const auto after = Make(Layout(), 40);
  const uint64_t salt = after->SaltOf("x");
  for (size_t size = 0; size < bytes.size(); size += size < 700 ? 1 : 97) {
    EXPECT_FALSE(Load(*after, std::span(bytes).first(size)).ok()) << size;
    ASSERT_EQ(after->AvailableBlocks(), 40);
    ASSERT_EQ(after->Stats().blocks_cached, 0);
  }
  EXPECT_FALSE(Load(*after, std::span(bytes).first(bytes.size() - 1)).ok());
  EXPECT_EQ(after->SaltOf("x"), salt);
  EXPECT_TRUE(Load(*after, bytes).ok());
}

TEST(SavedPrefixes, AFlippedBitLeavesNothing) {
  const auto before = Make(Layout(), 40);
  Compute(before, Tokens(130), 1);
  std::vector<uint8_t> bytes = Save(*before);
  const auto after = Make(Layout(), 40);
  for (size_t i = 0; i < bytes.size(); i += i < 700 ? 1 : 61) {
    bytes[i] ^= static_cast<uint8_t>(1 << i % 8);
    EXPECT_FALSE(Load(*after, bytes).ok()) << "byte " << i;
    EXPECT_EQ(Known(*after, Tokens(130)), 0);
    ASSERT_EQ(after->Stats().blocks_cached, 0);
    bytes[i] ^= static_cast<uint8_t>(1 << i % 8);
  }
  EXPECT_TRUE(Load(*after, bytes).ok());
}

TEST(SavedPrefixes, LoadingEndsWhenItIsToldTo) {
  const auto before = Make(Layout(), 40);
  Compute(before, Tokens(256), 1);
  const std::vector<uint8_t> bytes = Save(*before);
  const auto after = Make(Layout(), 40);
  MemorySource source(bytes);
  int pages = 0;
  EXPECT_EQ(after->LoadPrefixes(kIdentity, source, [&] { return ++pages > 2; })->pages, 2);
  EXPECT_EQ(Known(*after, Tokens(256)), 128);
}

TEST(SavedPrefixes, AFullDiskIsAnError) {
  const auto cache = Make(Layout(), 40);
  Compute(cache, Tokens(150), 1);
  for (size_t room : {0, 40, 100, 2000, 5000}) {
    MemorySink sink(room);
    EXPECT_EQ(cache->SavePrefixes(kIdentity, 1 << 30, sink).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(SavedPrefixes, WithoutReuseThereAreNone) {
  const auto cache = Make(Layout(), 40, /*reuse=*/false);
  Compute(cache, Tokens(150), 1);
  const auto other = Make(Layout(), 40);
  EXPECT_EQ(Load(*other, Save(*cache))->pages, 0);
  EXPECT_EQ(Load(*cache, Save(*other))->pages, 0);
}

}  // namespace
}  // namespace inferd::cache
