// Where a model's K and V live: pages of 64 tokens from one pool of a configured size, shared between sequences with an
// equal beginning, and slots for the state of recurrent layers.
//
//   std::unique_ptr<Sequence> sequence = cache.NewSequence({.tenant_salt = salt});
//   int64_t reused = cache.AttachPrefix(*sequence, prompt);          // tokens that need no prefill
//   RETURN_IF_ERROR(cache.Reserve(*sequence, chunk.size()));         // RESOURCE_EXHAUSTED: preempt somebody
//   ... forward::Forward(device, {{sequence.get(), chunk, wanted}}) ...  // writes K and V, then commits the chunk
//
// A group is a set of layers with one window: a page of a group holds 64 tokens of all its layers. Pages are reference
// counted; a full page, and the last page of a sequence that ends, are entered in the prefix index, and when no
// sequence holds them any more they stay there until the pool needs their memory (least recently used first, of one
// text its end first). The state of recurrent layers is kept where a pass ends at a page's end, and where a sequence
// ends. Pages wholly before a group's window are dropped as the sequence grows. Sequences write only to
// pages that they alone hold: a shared page is copied first.
//
// Not thread-safe: the engine's thread owns it. Any thread may call CountKnown and BlocksFor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/cache/page_memory.h"
#include "engine/cache/saved_prefixes.h"
#include "kernels/kernels.h"

namespace inferd::cache {

struct CacheOptions {
  uint64_t bytes = 512ull << 20;  // of pages and recurrent state together
  kernels::CacheType type = kernels::CacheType::kF16;
  int64_t max_sequences = 32;  // live at once; bounds the slots of recurrent state
  // Most tokens that are reserved at once, beyond those computed: bounds the pages of layers with a window. 0: any
  // number.
  int64_t step_tokens = 0;
  bool prefix_reuse = true;
};

// Sequences that differ in any of these never share a page.
struct PrefixKey {
  uint64_t adapter = 0;
  uint64_t tenant_salt = 0;

  bool operator==(const PrefixKey&) const = default;
};

struct CacheStats {
  int64_t blocks_total = 0, blocks_used = 0, blocks_cached = 0;  // cached: kept for reuse alone, free on demand
  int64_t block_bytes = 0;                                       // of each of them
  int64_t state_bytes = 0;  // of recurrent layers, beside the blocks: live sequences' and kept ones'
  int64_t sequences = 0;
  int64_t prefix_pages = 0;  // known texts' pages, full or not
  uint64_t prefix_tokens_asked = 0, prefix_tokens_reused = 0, pages_evicted = 0;
};

class KvCache;

// One sequence's page tables: numbers of pages, whose memory a device has (page_memory.h). Destroying it gives its
// pages back. It must not outlive its cache.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual int64_t length() const = 0;    // tokens whose K and V (or state) are in the cache
  virtual int64_t reserved() const = 0;  // tokens that fit into the pages held, from 0
  // [ceil(reserved / 64)] the group's page of each 64 tokens; -1 where the window has passed.
  virtual std::span<const int32_t> pages(int32_t group) const = 0;
  // How many of them, from the first on, are the same as when tokens were last committed, but for those that the window
  // has passed since.
  virtual int64_t known_pages(int32_t group) const = 0;
  virtual int32_t slot() const = 0;     // of recurrent state, zero at position 0; -1: the model has none
  virtual uint64_t number() const = 0;  // no other sequence of the cache has or had it
};

class KvCache {
 public:
  // INVALID_ARGUMENT if not even one page of each group fits into options.bytes. The memory, which is created here,
  // must outlive the cache.
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(CacheLayout layout, const CacheOptions& options,
                                                         PageMemory& memory);
  virtual ~KvCache() = default;

  virtual int32_t groups() const = 0;  // of layers, which have pages of their own

  // RESOURCE_EXHAUSTED. Without `keep`, nothing that it computes is kept for reuse.
  virtual absl::StatusOr<std::unique_ptr<Sequence>> NewSequence(const PrefixKey& key, bool keep = true) = 0;

  // Gives an empty sequence the longest cached beginning of `tokens`, never all of them (the last token's logits must
  // be computed); returns its tokens, which is the sequence's new length. A few tokens of a page are left out; of
  // recurrent models, the beginning ends where a state was kept: a page's end, or where another sequence ended.
  virtual int64_t AttachPrefix(Sequence& sequence, std::span<const int32_t> tokens) = 0;

  // Makes room for `tokens` more after length(). RESOURCE_EXHAUSTED (and nothing changed) if the pool cannot, even
  // after dropping all pages that are kept for reuse alone. 0: what was reserved is not computed, after all.
  virtual absl::Status Reserve(Sequence& sequence, int64_t tokens) = 0;

  // The reserved tokens were computed: length() grows, full pages enter the prefix index, pages before the window go.
  virtual void Commit(Sequence& sequence, std::span<const int32_t> tokens) = 0;

  // A second sequence that goes on from the same state (several choices of one prompt). Both must Reserve again before
  // they go on, so that one of them gets a copy of a page that is not yet full.
  virtual absl::StatusOr<std::unique_ptr<Sequence>> Fork(const Sequence& sequence) = 0;

  // Admission: blocks that Reserve could get now, and that a sequence of that many tokens holds at most.
  virtual int64_t AvailableBlocks() const = 0;
  virtual int64_t BlocksFor(int64_t tokens) const = 0;
  // That become available with each of these when they end one after the other: a page that several share, with the
  // last of them.
  virtual std::vector<int64_t> FreedBlocks(std::span<const Sequence* const> in_order) const = 0;

  // About as many tokens as AttachPrefix would find.
  virtual int64_t CountKnown(const PrefixKey& key, std::span<const int32_t> tokens) const = 0;

  virtual CacheStats Stats() const = 0;
  virtual void DropPrefixes() = 0;  // forgets everything kept for reuse alone

  // The tenant_salt of a tenant that calls itself so; nobody can construct another name with the same. Any thread may
  // call it.
  virtual uint64_t SaltOf(std::string_view text) const = 0;

  // What is kept for reuse, the most recently used first and as much as `most_bytes` hold, while no pass runs; and
  // back, before there are sequences, until `stop` says true or the pool is full. `identity` names what the pages'
  // values and texts mean: model, program, options. FAILED_PRECONDITION: it is another's; DATA_LOSS: not as it was
  // written. Then nothing is kept.
  virtual absl::StatusOr<SavedPrefixes> SavePrefixes(std::string_view identity, int64_t most_bytes, ByteSink& sink) = 0;
  virtual absl::StatusOr<SavedPrefixes> LoadPrefixes(std::string_view identity, ByteSource& source,
                                                     const std::function<bool()>& stop) = 0;
};

}  // namespace inferd::cache
