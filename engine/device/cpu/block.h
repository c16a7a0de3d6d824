// A part of the model as the CPU runs it, for all layers that have it: a class each, with its own memory.
//
//   class FeedForward final : public Network {
//     int64_t widest_row() const override;          // said first: what it keeps in a thread's scratch
//     absl::Status Allocate() override;             // its buffers, for the largest batch
//     void Run(int32_t layer) override;             // the stream += ...
//   };
//
// Blocks read the batch, the processor and the residual stream through their context, and know nothing of each other.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "engine/device/cpu/cpu_batch.h"
#include "engine/device/cpu/processor.h"
#include "engine/device/cpu/residual_stream.h"
#include "engine/device/cpu/rope_tables.h"
#include "engine/device/device.h"
#include "engine/model/model.h"

namespace inferd::device {

struct BlockContext {
  const model::DecoderSpec& spec;
  const model::ModelWeights& weights;
  const DeviceOptions& options;
  Processor& processor;
  const CpuBatch& batch;
  const RopeTables& ropes;
  ResidualStream& stream;
};

class Block {
 public:
  explicit Block(const BlockContext& context)
      : spec_(context.spec),
        weights_(context.weights),
        options_(context.options),
        processor_(context.processor),
        k_(processor_.kernels()),
        pool_(processor_.pool()),
        products_(processor_.products()),
        batch_(context.batch),
        ropes_(context.ropes),
        stream_(context.stream) {}
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Floats of ThreadScratch::row and ThreadScratch::other_row.
  virtual int64_t widest_row() const = 0;
  // RESOURCE_EXHAUSTED.
  virtual absl::Status Allocate() = 0;

 protected:
  int64_t rows() const { return batch_.rows(); }
  int64_t most_rows() const { return options_.max_batch_tokens; }
  const ThreadScratch& scratch(int32_t thread) const { return processor_.scratch(thread); }
  absl::StatusOr<Activations> TakeActivations(int64_t rows, int64_t widest) {
    return processor_.TakeActivations(workspace_, rows, widest);
  }
  // Of each row of the largest batch.
  absl::StatusOr<float*> TakeRows(int64_t width) { return workspace_.Take<float>(most_rows() * width); }

  // task(row, thread) for each row of the batch.
  template <typename Task>
  void ForRows(Task&& task) {
    processor_.ForRows(rows(), std::forward<Task>(task));
  }
  // task(run, thread) for each run of the batch.
  template <typename Task>
  void ForRuns(Task task) {
    const std::span<const Run> runs = batch_.runs();
    if (rows() <= Processor::kAlone) {
      for (const Run& run : runs) task(run, 0);
    } else {
      pool_.Run(static_cast<int64_t>(runs.size()), [&](int64_t item, int32_t thread) { task(runs[item], thread); });
    }
  }
  void ApplyNorm(const model::Norm& norm, const float* x, int64_t n, float* out) const {
    processor_.ApplyNorm(norm, x, n, out);
  }
  void StoreRow(const model::Norm& norm, const float* x, int64_t row, const Activations& out, int32_t thread) const {
    processor_.StoreRow(norm, x, row, out, thread);
  }

  const model::DecoderSpec& spec_;
  const model::ModelWeights& weights_;
  const DeviceOptions& options_;
  Processor& processor_;
  const kernels::Kernels& k_;
  ThreadPool& pool_;
  const Products& products_;
  const CpuBatch& batch_;
  const RopeTables& ropes_;
  ResidualStream& stream_;
  Workspace workspace_;
};

// Attention of any kind, in the three steps of a device.
class AttentionBlock : public Block {
 public:
  using Block::Block;
  virtual Formats InputFormats(int32_t layer) const = 0;  // of what Project reads
  virtual void Project(int32_t layer, const Activations& input) = 0;
  virtual void Attend(int32_t layer) = 0;
  virtual void Finish(int32_t layer) = 0;
};

// A feed-forward network of any kind.
class Network : public Block {
 public:
  using Block::Block;
  virtual void BeforeMixer(int32_t layer) = 0;  // what it reads of the stream before the layer's mixer changes it
  virtual void Run(int32_t layer) = 0;

 protected:
  const model::Norm& InputNorm(int32_t layer) const {
    const model::LayerWeights& w = weights_.layers[layer];
    return spec_.parallel && !w.before_feed_forward.present ? w.before_mixer : w.before_feed_forward;
  }
};

}  // namespace inferd::device
