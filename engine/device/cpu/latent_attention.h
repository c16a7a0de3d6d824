// Multi-head latent attention (arXiv 2405.04434, section 2.1), as AttentionBlock's three steps.
//
// Absorbed form: the cache holds one vector a token, latent then rotated part, and a head's query is brought into the
// latent space instead of the key out of it: q . (k_b c) = (k_b^T q) . c. What attention returns is latent too, and v_b
// takes it to the head's values. Files without k_b and v_b have kv_b, and K and V of each head are cached as usual.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/cpu/block.h"
#include "engine/device/cpu/paged_attention.h"

namespace inferd::device {

class LatentAttention final : public AttentionBlock {
 public:
  explicit LatentAttention(const BlockContext& context) : AttentionBlock(context), paged_(context) {}
  static bool Has(const model::LayerSpec& layer) {
    return layer.attention.heads > 0 && layer.attention.latent.kv_rank > 0;
  }

  int64_t widest_row() const override;
  absl::Status Allocate() override;
  Formats InputFormats(int32_t layer) const override;
  void Project(int32_t layer, const Activations& input) override;
  void Attend(int32_t layer) override { paged_.Run(layer, q_, attended_); }
  void Finish(int32_t layer) override;

 private:
  void MultiplyHeads(const model::Linear& linear, int64_t heads, int64_t rows_of_head, float* out, int64_t head_stride);
  void TurnRow(const model::AttentionSpec& a, const model::AttentionWeights& w, int64_t row);
  void AbsorbQueries(const model::AttentionSpec& a, const model::AttentionWeights& w);
  void DecompressKeys(const model::AttentionSpec& a, const model::AttentionWeights& w);
  void DecompressValues(const model::AttentionSpec& a, const model::AttentionWeights& w);

  PagedAttention paged_;
  float *q_ = nullptr, *attended_ = nullptr;  // [rows][heads] of the widest of a head's vectors; they change places
  float* latent_ = nullptr;                   // [rows][kv_rank + rope_dim]
  float *keys_values_ = nullptr, *values_ = nullptr;  // not absorbed: [rows][heads] of kv_b's rows, and of v_dim
  Activations inner_;                                 // [rows]
  Activations heads_;                                 // [rows][heads]
  std::vector<int32_t> rows_of_heads_;                // [heads][rows] in heads_
};

}  // namespace inferd::device
