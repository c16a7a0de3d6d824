// A cache of small pages, for tests: layouts, texts, and passes that compute nothing.
//
//   auto cache = Make(Layout(), /*blocks=*/12);
//   auto sequence = *cache->NewSequence({});
//   ASSERT_TRUE(Grow(*cache, *sequence, Tokens(65)).ok());
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "config/base/status.h"
#include "engine/cache/kv_cache.h"

namespace inferd::cache {

inline constexpr int64_t kBlock = 1024;

// Two layers that see everything, one with a window of 100 tokens: a page of 64 tokens takes three blocks.
inline CacheLayout Layout() {
  return {.groups = {{0, {0, 2}}, {100, {1}}}, .page_bytes = {kBlock, kBlock, kBlock}, .state_bytes = {0, 0, 0}};
}

inline CacheLayout RecurrentLayout() {
  return {.groups = {{0, {0}}}, .page_bytes = {kBlock, 0}, .state_bytes = {0, 256}};
}

inline std::unique_ptr<KvCache> Make(CacheLayout layout, int64_t blocks, bool reuse = true, int64_t state_bytes = 0) {
  auto cache = KvCache::Create(
      std::move(layout),
      {.bytes = static_cast<uint64_t>(blocks * kBlock + state_bytes), .max_sequences = 8, .prefix_reuse = reuse});
  EXPECT_TRUE(cache.ok()) << cache.status();
  return *std::move(cache);
}

inline std::vector<int32_t> Tokens(int64_t n, int32_t seed = 0) {
  std::vector<int32_t> tokens(n);
  for (int64_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(i * 31 + seed);
  return tokens;
}

// Reserves and commits, as a pass does.
inline absl::Status Grow(KvCache& cache, Sequence& sequence, std::span<const int32_t> tokens) {
  RETURN_IF_ERROR(cache.Reserve(sequence, static_cast<int64_t>(tokens.size())));
  cache.Commit(sequence, tokens);
  return absl::OkStatus();
}

inline void Mark(const Sequence& sequence, int32_t layer, int64_t page, uint8_t mark) {
  std::memset(const_cast<void*>(sequence.pages(layer)[page]), mark, kBlock);
}
inline uint8_t MarkOf(const Sequence& sequence, int32_t layer, int64_t page) {
  return *static_cast<const uint8_t*>(sequence.pages(layer)[page]);
}

}  // namespace inferd::cache
