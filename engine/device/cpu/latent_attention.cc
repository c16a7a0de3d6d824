#include "engine/device/cpu/latent_attention.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/device/attention_factors.h"

namespace inferd::device {
namespace {

// Head h's own rows of a matrix that stacks all heads'.
model::Linear HeadOf(const model::Linear& linear, int64_t head, int64_t rows) {
  model::Linear own = linear;
  own.weights.rows = rows;
  own.weights.data = static_cast<const uint8_t*>(linear.weights.data) + head * rows * linear.weights.row_bytes;
  if (linear.bias != nullptr) own.bias = linear.bias + head * rows;
  return own;
}

}  // namespace

int64_t LatentAttention::widest_row() const {
  int64_t widest = 0;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::AttentionSpec& a = layer.attention;
    if (Has(layer)) widest = std::max({widest, a.latent.q_rank, a.latent.kv_rank, a.heads * a.latent.v_dim});
  }
  return widest;
}

absl::Status LatentAttention::Allocate() {
  int64_t q = 0, latent = 0, both = 0, values = 0, heads = 0, widest_head = 0;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::AttentionSpec& a = layer.attention;
    const model::LatentSpec& l = a.latent;
    if (!Has(layer)) continue;
    q = std::max({q, l.q_rank, a.heads * std::max({l.nope_dim + l.rope_dim, a.k_dim, a.v_dim, l.v_dim})});
    latent = std::max(latent, l.kv_rank + l.rope_dim);
    heads = std::max(heads, a.heads);
    widest_head = std::max({widest_head, l.nope_dim, l.kv_rank});
    if (l.absorbed) continue;
    both = std::max(both, a.heads * (l.nope_dim + l.v_dim));
    values = std::max(values, a.heads * l.v_dim);
  }
  ASSIGN_OR_RETURN(q_, TakeRows(q));
  ASSIGN_OR_RETURN(attended_, TakeRows(q));
  ASSIGN_OR_RETURN(latent_, TakeRows(latent));
  ASSIGN_OR_RETURN(keys_values_, TakeRows(both));
  ASSIGN_OR_RETURN(values_, TakeRows(values));
  ASSIGN_OR_RETURN(inner_, TakeActivations(most_rows(), widest_row()));
  ASSIGN_OR_RETURN(heads_, TakeActivations(most_rows() * heads, widest_head));
  rows_of_heads_.resize(most_rows() * heads);
  return paged_.Allocate();
}

Formats LatentAttention::InputFormats(int32_t layer) const {
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  return Formats::Of({&w.q, &w.q_a, &w.kv_a});
}

void LatentAttention::Project(int32_t layer, const Activations& input) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const model::LatentSpec& l = a.latent;
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  const int64_t query = l.nope_dim + l.rope_dim, kv_width = l.kv_rank + l.rope_dim;
  const Product products[] = {
      {&w.kv_a, latent_, kv_width},
      {l.q_rank > 0 ? &w.q_a : &w.q, l.q_rank > 0 ? attended_ : q_, l.q_rank > 0 ? l.q_rank : a.heads * query}};
  products_.Multiply(input, rows(), products);
  if (l.q_rank > 0) {
    inner_.formats = Formats::Of({&w.q_b});
    inner_.k = l.q_rank;
    ForRows(
        [&](int64_t row, int32_t thread) { StoreRow(w.q_a_norm, attended_ + row * l.q_rank, row, inner_, thread); });
    const Product q_b{&w.q_b, q_, a.heads * query};
    products_.Multiply(inner_, rows(), {&q_b, 1});
  }
  ForRows([&](int64_t row, int32_t) { TurnRow(a, w, row); });
  if (l.absorbed) {
    AbsorbQueries(a, w);
    ForRuns([&](const Run& run, int32_t) { paged_.WriteRun(layer, run, latent_, kv_width, latent_, kv_width); });
  } else {
    DecompressKeys(a, w);
    ForRuns([&](const Run& run, int32_t) {
      paged_.WriteRun(layer, run, attended_, a.heads * a.k_dim, values_, a.heads * a.v_dim);
    });
  }
}

// heads_ holds a row for each token and head; each head's product goes to its place in rows of `out`.
void LatentAttention::MultiplyHeads(const model::Linear& linear, int64_t heads, int64_t rows_of_head, float* out,
                                    int64_t head_stride) {
  const int64_t stride = heads * head_stride;
  for (int64_t row = 0; row < rows(); ++row) {
    for (int64_t head = 0; head < heads; ++head) {
      rows_of_heads_[head * rows() + row] = static_cast<int32_t>(row * heads + head);
    }
  }
  pool_.Run(heads, [&](int64_t head, int32_t thread) {
    products_.MultiplyRows(heads_, rows_of_heads_.data() + head * rows(), rows(), HeadOf(linear, head, rows_of_head), 0,
                           rows_of_head, out + head * head_stride, stride, thread);
  });
}

void LatentAttention::TurnRow(const model::AttentionSpec& a, const model::AttentionWeights& w, int64_t row) {
  const model::LatentSpec& l = a.latent;
  const int64_t query = l.nope_dim + l.rope_dim;
  float *q = q_ + row * a.heads * query, *kv = latent_ + row * (l.kv_rank + l.rope_dim);
  ApplyNorm(w.kv_a_norm, kv, l.kv_rank, kv);
  if (a.temperature_floor > 0) {
    k_.scale(q, TemperatureAt(a, batch_.position(row)), a.heads * query, q);
  }
  if (a.rope < 0) return;
  const model::RopeSpec& rope = spec_.ropes[a.rope];
  const float* table = ropes_.Row(a.rope, row);
  k_.rope(q + l.nope_dim, a.heads, query, rope.rotated, rope.pairing, table);
  k_.rope(kv + l.kv_rank, 1, l.rope_dim, rope.rotated, rope.pairing, table);
}

// q_ becomes [heads][latent, rotated part].
void LatentAttention::AbsorbQueries(const model::AttentionSpec& a, const model::AttentionWeights& w) {
  const model::LatentSpec& l = a.latent;
  const int64_t query = l.nope_dim + l.rope_dim;
  heads_.formats = Formats::Of({&w.k_b});
  heads_.k = l.nope_dim;
  processor_.ForRows(rows() * a.heads,
                     [&](int64_t slot, int32_t) { products_.Store(heads_, slot, q_ + slot * query); });
  MultiplyHeads(w.k_b, a.heads, l.kv_rank, attended_, a.k_dim);
  processor_.ForRows(rows() * a.heads, [&](int64_t slot, int32_t) {
    const float* rotated = q_ + slot * query + l.nope_dim;
    std::copy(rotated, rotated + l.rope_dim, attended_ + slot * a.k_dim + l.kv_rank);
  });
  std::swap(q_, attended_);
}

// Keys of all heads into attended_, values into values_.
void LatentAttention::DecompressKeys(const model::AttentionSpec& a, const model::AttentionWeights& w) {
  const model::LatentSpec& l = a.latent;
  const int64_t kv_width = l.kv_rank + l.rope_dim, both = l.nope_dim + l.v_dim;
  inner_.formats = Formats::Of({&w.kv_b});
  inner_.k = l.kv_rank;
  ForRows([&](int64_t row, int32_t) { products_.Store(inner_, row, latent_ + row * kv_width); });
  const Product kv_b{&w.kv_b, keys_values_, a.heads * both};
  products_.Multiply(inner_, rows(), {&kv_b, 1});
  processor_.ForRows(rows() * a.heads, [&](int64_t slot, int32_t) {
    const float *own = keys_values_ + slot * both, *rotated = latent_ + slot / a.heads * kv_width + l.kv_rank;
    std::copy(own, own + l.nope_dim, attended_ + slot * a.k_dim);
    std::copy(rotated, rotated + l.rope_dim, attended_ + slot * a.k_dim + l.nope_dim);
    std::copy(own + l.nope_dim, own + both, values_ + slot * l.v_dim);
  });
}

// attended_ becomes [heads][v_dim].
void LatentAttention::DecompressValues(const model::AttentionSpec& a, const model::AttentionWeights& w) {
  if (!a.latent.absorbed) return;
  heads_.formats = Formats::Of({&w.v_b});
  heads_.k = a.latent.kv_rank;
  processor_.ForRows(rows() * a.heads,
                     [&](int64_t slot, int32_t) { products_.Store(heads_, slot, attended_ + slot * a.v_dim); });
  MultiplyHeads(w.v_b, a.heads, a.latent.v_dim, attended_, a.latent.v_dim);
}

void LatentAttention::Finish(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  DecompressValues(spec_.layers[layer].attention, w.attention);
  inner_.formats = Formats::Of({&w.attention.output});
  inner_.k = w.attention.output.weights.k;
  ForRows(
      [&](int64_t row, int32_t thread) { StoreRow(w.inside_mixer, attended_ + row * inner_.k, row, inner_, thread); });
  stream_.AddProduct(inner_, w.attention.output, w.after_mixer, w.after_mixer_sum);
}

}  // namespace inferd::device
