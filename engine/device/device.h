// What runs a model's layers: about a dozen coarse steps over buffers that the device owns.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CreateDevice(model, {.cache = {.bytes = 1 << 30}}));
//   ASSIGN_OR_RETURN(std::unique_ptr<cache::Sequence> sequence, device->cache().NewSequence({}));
//   ... forward::Forward(*device, steps) ...
//
// forward.cc calls the steps in order. They may only enqueue: End() says whether they could be, and asking for a result
// waits. How steps are fused and divided is the device's own business, but a result never depends on threads, batch or
// chunking. One caller at a time. factory/device_factory.h makes devices by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "engine/cache/kv_cache.h"
#include "engine/model/model.h"

namespace inferd::device {

// Layers begin..end-1.
struct LayerRange {
  int32_t begin = 0, end = 0;
  bool Has(int32_t layer) const { return layer >= begin && layer < end; }
};

struct DeviceOptions {
  int64_t context_tokens = 0;      // longest sequence; 0: as trained
  int64_t max_batch_tokens = 512;  // tokens of one call, all sequences together
  int64_t max_result_rows = 64;    // wanted rows of one call
  cache::CacheOptions cache;
};

// INVALID_ARGUMENT names the option that cannot be. Sets defaults.
absl::Status ResolveOptions(const model::Model& model, DeviceOptions& options);

// One group's pages of a sequence: numbers in the device's page memory of each 64 tokens, -1 where a window has passed.
// The first `known` are those that the device saw in the sequence's last batch, but for what the window has passed.
struct PageTable {
  std::span<const int32_t> pages;
  int64_t known;
};

// One sequence's part of a batch: rows row_begin.. of the batch are its tokens at first_position..
struct BatchSequence {
  uint64_t number;  // cache::Sequence::number
  int64_t first_position;
  int64_t row_begin;
  int64_t tokens;
  int64_t second_text;                // from this position on, tokens have the type 1 instead of 0
  std::span<const PageTable> tables;  // [groups]
  int32_t slot;                       // of recurrent state; -1: none
};

struct Batch {
  std::span<const int32_t> tokens;  // [rows]
  std::span<const BatchSequence> sequences;
};

// Rows whose logits there is room for at once: with many sequences and a large vocabulary, all of them would take more
// memory than the rest of a pass.
constexpr int64_t kMostLogitsRows = 32;

class Device {
 public:
  virtual ~Device() = default;

  virtual const model::Model& model() const = 0;
  virtual const DeviceOptions& options() const = 0;  // with defaults resolved
  virtual cache::KvCache& cache() = 0;
  virtual cache::PageMemory& memory() = 0;                   // behind the cache's page numbers
  virtual const kernels::Kernels& host_kernels() const = 0;  // for work on results beside the device: sampling
  virtual std::string description() const = 0;               // "cpu avx512, 2 threads"
  // Changes again and again while anything is computed, also within a step; asked by any thread. By this a watchdog
  // tells a long pass from one that hangs.
  virtual uint64_t progress() const = 0;

  // ---- the steps of a pass, all over the residual stream x [rows][n_embd]
  virtual void Begin(const Batch& batch) = 0;        // the batch lives until End
  virtual void Embed() = 0;                          // x = embedding of each token (scaled, positions added, normed)
  virtual void BeginLayer(int32_t layer) = 0;        // further residual streams: what the layer will make of them
  virtual void ProjectQkv(int32_t layer) = 0;        // norm, projections, q/k norm, RoPE; K and V to the pages
  virtual void Attend(int32_t layer) = 0;            // attention of each query over its sequence's pages
  virtual void ProjectAttention(int32_t layer) = 0;  // output projection, norms after it, x += ...
  virtual void MixRecurrent(int32_t layer) = 0;      // the whole mixer of a recurrent layer, x += ...
  virtual void FeedForward(int32_t layer) = 0;       // norm, dense or expert network, x += ...
  virtual void FinishLayer(int32_t layer) = 0;       // the layer's own embedding, further streams, scale of x
  virtual absl::Status End() = 0;                    // the first error of the steps so far; does not wait

  // ---- results of some of its rows, as often as one likes until the next Begin: x stays as it is. They wait for the
  // steps, and give an error that came up meanwhile. They are the caller's to change, until another call takes their
  // memory. No more rows than max_result_rows.
  virtual absl::StatusOr<std::span<float>> Hidden(std::span<const int32_t> rows) = 0;  // [rows][n_embd], normed
  // [rows][n_vocab] of at most kMostLogitsRows
  virtual absl::StatusOr<std::span<float>> Logits(std::span<const int32_t> rows) = 0;
  // [rows][k] the largest logits, as Kernels::top_k orders them; k at most n_vocab
  virtual absl::StatusOr<std::span<const kernels::TopEntry>> TopK(std::span<const int32_t> rows, int32_t k) = 0;
  virtual absl::StatusOr<std::span<const float>> LogSumExp(std::span<const int32_t> rows) = 0;  // [rows] of logits

  // y = weights * x (+ bias) outside a pass, for heads on pooled vectors. x [k], y [rows].
  virtual absl::Status Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) = 0;

  // ---- where several devices share a pass: what layers hand on, [rows][stream_floats]. ReadStream waits.
  virtual int64_t stream_floats() const = 0;
  virtual absl::Status ReadStream(std::span<float> stream) = 0;
  virtual absl::Status WriteStream(std::span<const float> stream) = 0;
};

}  // namespace inferd::device
