// What runs a model's layers: about a dozen coarse steps over buffers that the device owns.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Device::Create(model, {.threads = 2, .cache = {.bytes = 1 <<
//   30}})); ASSIGN_OR_RETURN(std::unique_ptr<cache::Sequence> sequence, device->cache().NewSequence({}));
//   ... forward::Forward(*device, steps) ...
//
// forward.cc calls the steps in order; how they are fused and divided is the device's own business, but a result never
// depends on threads, batch or chunking. One caller at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "engine/cache/kv_cache.h"
#include "engine/model/model.h"

namespace inferd::device {

struct DeviceOptions {
  int32_t threads = 0;             // 0: the cores that this process may use (affinity and cgroup quota)
  int64_t context_tokens = 0;      // longest sequence; 0: as trained
  int64_t max_batch_tokens = 512;  // tokens of one call, all sequences together
  int64_t max_result_rows = 64;    // wanted rows of one call
  cache::CacheOptions cache;
  bool blas = false;  // many tokens' products with float weights by OpenBLAS, whose bits depend on the batch
  std::string isa;    // name of a kernel variant; empty: the best that this CPU runs
};

// One sequence's part of a batch: rows row_begin.. of the batch are its tokens at first_position..
struct BatchSequence {
  cache::Sequence* sequence;
  int64_t first_position;
  int64_t row_begin;
  int64_t tokens;
};

struct Batch {
  std::span<const int32_t> tokens;  // [rows]
  std::span<const BatchSequence> sequences;
};

// Rows whose logits there is room for at once: with many sequences and a large vocabulary, all of them would take more
// memory than the rest of a pass.
constexpr int64_t kMostLogitsRows = 32;

// Loads what DeviceOptions::blas needs, for a process that will soon lose the right to open files.
absl::Status LoadBlas();

class Device {
 public:
  // INVALID_ARGUMENT names the option or tensor that cannot be run; RESOURCE_EXHAUSTED for memory.
  static absl::StatusOr<std::unique_ptr<Device>> Create(std::shared_ptr<const model::Model> model,
                                                        const DeviceOptions& options);
  virtual ~Device() = default;

  virtual const model::Model& model() const = 0;
  virtual const DeviceOptions& options() const = 0;  // with defaults resolved
  virtual cache::KvCache& cache() = 0;
  virtual std::string description() const = 0;  // "cpu avx512, 2 threads"
  // Changes again and again while anything is computed, also within a step; asked by any thread. By this a watchdog
  // tells a long pass from one that hangs.
  virtual uint64_t progress() const = 0;

  // ---- the steps of a pass, all over the residual stream x [rows][n_embd]
  virtual void Begin(const Batch& batch) = 0;        // the batch lives until the last FinishLayer
  virtual void Embed() = 0;                          // x = embedding of each token (scaled, positions added, normed)
  virtual void BeginLayer(int32_t layer) = 0;        // further residual streams: what the layer will make of them
  virtual void ProjectQkv(int32_t layer) = 0;        // norm, projections, q/k norm, RoPE; K and V to the pages
  virtual void Attend(int32_t layer) = 0;            // attention of each query over its sequence's pages
  virtual void ProjectAttention(int32_t layer) = 0;  // output projection, norms after it, x += ...
  virtual void MixRecurrent(int32_t layer) = 0;      // the whole mixer of a recurrent layer, x += ...
  virtual void FeedForward(int32_t layer) = 0;       // norm, dense or expert network, x += ...
  virtual void FinishLayer(int32_t layer) = 0;       // the layer's own embedding, further streams, scale of x
  // ---- results of some of its rows, as often as one likes until the next Begin: x stays as it is. They are the
  // caller's to change, until another call takes their memory. No more rows than max_result_rows.
  virtual std::span<float> Hidden(std::span<const int32_t> rows) = 0;  // [rows][n_embd] after the last norm
  virtual std::span<float> Logits(std::span<const int32_t> rows) = 0;  // [rows][n_vocab] of at most kMostLogitsRows

  // y = weights * x (+ bias) outside a pass, for heads on pooled vectors. x [k], y [rows].
  virtual void Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) = 0;
};

}  // namespace inferd::device
