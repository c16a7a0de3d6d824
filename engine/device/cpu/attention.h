// Attention with K and V of each head: projections with what is done to queries and keys, then each query over its
// sequence's pages, then the output projection into the stream.
//
//   attention.Project(layer, input);   // input: the normed stream, in InputFormats(layer)
//   attention.Attend(layer);
//   attention.Finish(layer);
#pragma once

#include <cstdint>

#include "engine/device/cpu/block.h"
#include "engine/device/cpu/paged_attention.h"

namespace inferd::device {

class Attention final : public AttentionBlock {
 public:
  explicit Attention(const BlockContext& context) : AttentionBlock(context), paged_(context) {}
  static bool Has(const model::LayerSpec& layer) {
    return layer.attention.heads > 0 && layer.attention.latent.kv_rank == 0;
  }

  int64_t widest_row() const override;
  absl::Status Allocate() override;
  Formats InputFormats(int32_t layer) const override;
  void Project(int32_t layer, const Activations& input) override;
  void Attend(int32_t layer) override { paged_.Run(layer, q_, attended_); }
  void Finish(int32_t layer) override;

 private:
  void ApplyNormPerHead(const model::Norm& norm, model::QkNorm kind, int64_t heads, int64_t stride, int64_t dim,
                        float* x) const;
  void FinishRow(int32_t layer, int64_t row, int64_t position);
  void GateRow(const model::AttentionSpec& a, float* gate, float* attended) const;

  PagedAttention paged_;
  float *q_ = nullptr, *k_rows_ = nullptr, *v_ = nullptr;  // [rows][heads][k_dim or v_dim]
  float *gate_ = nullptr, *attended_ = nullptr;            // [rows][heads][v_dim]
  Activations inner_;
};

}  // namespace inferd::device
