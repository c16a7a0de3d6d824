// A cache of small pages, for tests: layouts, texts, and passes that compute nothing.
//
//   auto cache = Make(Layout(), /*blocks=*/12);
//   auto sequence = *cache->NewSequence({});
//   ASSERT_TRUE(Grow(*cache, *sequence, Tokens(65)).ok());
//   EXPECT_EQ(*cache.Page(*sequence, /*layer=*/0, /*page=*/1), 0);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "engine/cache/host_page_memory.h"
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

// A cache with its memory.
class TestCache {
 public:
  TestCache(CacheLayout layout, const CacheOptions& options)
      : layout_(layout), memory_(std::make_unique<HostPageMemory>()) {
    auto cache = KvCache::Create(std::move(layout), options, *memory_);
    EXPECT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
  }
  KvCache* operator->() const { return cache_.get(); }
  KvCache& operator*() const { return *cache_; }

  uint8_t* Page(const Sequence& sequence, int32_t layer, int64_t page) const {
    for (size_t group = 0; group < layout_.groups.size(); ++group) {
      const std::vector<int32_t>& layers = layout_.groups[group].layers;
      if (std::find(layers.begin(), layers.end(), layer) == layers.end()) continue;
      const int32_t number = sequence.pages(static_cast<int32_t>(group))[page];
      return number < 0 ? nullptr : memory_->Page(number, layer);
    }
    return nullptr;
  }
  uint8_t* State(const Sequence& sequence, int32_t layer) const { return memory_->State(sequence.slot(), layer); }

  void Mark(const Sequence& sequence, int32_t layer, int64_t page, uint8_t mark) const {
    std::memset(Page(sequence, layer, page), mark, kBlock);
  }
  uint8_t MarkOf(const Sequence& sequence, int32_t layer, int64_t page) const { return *Page(sequence, layer, page); }

 private:
  CacheLayout layout_;
  std::unique_ptr<HostPageMemory> memory_;
  std::unique_ptr<KvCache> cache_;
};

inline TestCache Make(CacheLayout layout, int64_t blocks, bool reuse = true, int64_t state_bytes = 0) {
  return {std::move(layout),
          {.bytes = static_cast<uint64_t>(blocks * kBlock + state_bytes), .max_sequences = 8, .prefix_reuse = reuse}};
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

}  // namespace inferd::cache
