// Any bytes as saved prefixes: what is taken over of them was whole. A first byte that is odd makes the bytes changes
// to a file that was saved, so that checksums are right at most places.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "config/base/status.h"
#include "engine/cache/host_page_memory.h"
#include "engine/cache/kv_cache.h"
#include "engine/cache/memory_stream.h"

namespace {

using namespace inferd;
using namespace inferd::cache;

constexpr int64_t kBlock = 64;
constexpr std::string_view kIdentity = "model 1";

struct Fresh {
  Fresh() {
    const CacheLayout layout{.groups = {{0, {0}}, {100, {1}}}, .page_bytes = {kBlock, kBlock}, .state_bytes = {0, 0}};
    auto made = KvCache::Create(layout, {.bytes = 40 * kBlock, .max_sequences = 2, .prefix_reuse = true}, memory);
    if (!made.ok()) std::abort();
    cache = *std::move(made);
  }
  HostPageMemory memory;
  std::unique_ptr<KvCache> cache;
};

std::vector<uint8_t> Saved() {
  const Fresh fresh;
  const auto& cache = fresh.cache;
  const std::vector<int32_t> tokens(150, 7);
  {
    const auto sequence = *cache->NewSequence({});
    if (!cache->Reserve(*sequence, 150).ok()) std::abort();
    cache->Commit(*sequence, tokens);
  }
  MemorySink sink;
  if (!cache->SavePrefixes(kIdentity, 1 << 20, sink).ok()) std::abort();
  return sink.bytes;
}

// Pairs of a place (two bytes) and what is there instead.
std::vector<uint8_t> Changed(std::vector<uint8_t> bytes, std::span<const uint8_t> changes) {
  for (; changes.size() >= 3; changes = changes.subspan(3)) {
    bytes[(changes[0] | changes[1] << 8) % bytes.size()] = changes[2];
  }
  if (!changes.empty()) bytes.resize(bytes.size() * changes[0] / 256);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> saved = Saved();
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const std::vector<uint8_t> bytes =
      data[0] % 2 == 1 ? Changed(saved, rest) : std::vector<uint8_t>(rest.begin(), rest.end());
  const Fresh fresh;
  const auto& cache = fresh.cache;
  MemorySource source(bytes);
  const auto loaded = cache->LoadPrefixes(kIdentity, source, [] { return false; });
  const auto stats = cache->Stats();
  if (loaded.ok() && loaded->bytes > static_cast<int64_t>(bytes.size())) std::abort();
  if (stats.blocks_used != 0) std::abort();
  cache->DropPrefixes();
  if (cache->AvailableBlocks() != 40) std::abort();  // nothing is lost
  return 0;
}
