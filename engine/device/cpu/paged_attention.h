// Each query over its sequence's pages, and K and V into them: what attention of every kind shares.
//
//   RETURN_IF_ERROR(attend.Allocate());
//   attend.WriteRun(layer, run, k, k_stride, v, v_stride);   // of each run of the batch
//   attend.Run(layer, q, out);                               // q [rows][heads][k_dim], out [rows][heads][v_dim]
//
// Threads take queries, heads, and where there are few of them, spans of their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class PagedAttention final : public Block {
 public:
  explicit PagedAttention(const BlockContext& context);

  int64_t widest_row() const override { return 0; }
  absl::Status Allocate() override;

  // Rows of the run in k and v, which begin with the batch's first row.
  void WriteRun(int32_t layer, const device::Run& run, const float* k, int64_t k_stride, const float* v,
                int64_t v_stride);
  // With AttentionSpec::gated_output, a gate of k_dim lies after each head's query.
  void Run(int32_t layer, const float* q, float* out);

 private:
  struct HeadGroup {
    int64_t kv_head, first, count;  // query heads first..first+count-1
  };
  // A few heads of a sequence, and each span of their keys.
  struct SpanPart {
    const BatchSequence* sequence;
    HeadGroup heads;
    int64_t spans;
    float* states;  // [spans][tokens][heads][SpanStateFloats]
  };
  struct SpanItem {
    size_t part;
    int64_t span;
    float* state;
  };
  static constexpr int64_t kQueryTokens = 32;  // queries of one item
  static constexpr int64_t kSpanRows = 8;      // rows of a batch whose keys are divided into spans

  kernels::PageShape ShapeOf(int32_t layer) const;
  int64_t DivideIntoSpans(const model::AttentionSpec& attention);
  bool RunInSpans(int32_t layer);
  kernels::AttentionArguments ArgumentsOf(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads,
                                          int64_t first, int64_t tokens, int32_t thread) const;
  void RunTokens(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads, int64_t first, int64_t tokens,
                 int32_t thread);

  std::vector<void*> thread_scratch_;
  std::vector<std::vector<float>> alibi_slopes_;  // [layers][heads], empty without
  std::vector<SpanPart> span_parts_;
  std::vector<SpanItem> span_items_;
  float* span_states_ = nullptr;
  const float* q_ = nullptr;  // of the layer that runs
  float* out_ = nullptr;
};

}  // namespace inferd::device
