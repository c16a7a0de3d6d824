// Multi-head latent attention (arXiv 2405.04434, section 2.1).
//
// Absorbed form: the cache holds one vector a token, latent then rotated part, and a head's query is brought into the
// latent space instead of the key out of it: q . (k_b c) = (k_b^T q) . c. What attention returns is latent too, and v_b
// takes it to the head's values. Files without k_b and v_b have kv_b, and K and V of each head are cached as usual.
#include <algorithm>

#include "engine/device/cpu/cpu_device.h"

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

// slots_ holds a row for each token and head; each head's product goes to its place in rows of `out`.
void CpuDevice::MultiplyHeads(const model::Linear& linear, int64_t heads, int64_t rows, float* out,
                              int64_t head_stride) {
  const int64_t stride = heads * head_stride;
  for (int64_t row = 0; row < rows_; ++row) {
    for (int64_t head = 0; head < heads; ++head)
      sorted_rows_[head * rows_ + row] = static_cast<int32_t>(row * heads + head);
  }
  pool_.Run(heads, [&](int64_t head, int32_t thread) {
    products_.MultiplyRows(slots_, sorted_rows_.data() + head * rows_, rows_, HeadOf(linear, head, rows), 0, rows,
                           out + head * head_stride, stride, thread);
  });
}

void CpuDevice::ProjectLatent(int32_t layer) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const model::LatentSpec& l = a.latent;
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  const int64_t query = l.nope_dim + l.rope_dim, kv_width = l.kv_rank + l.rope_dim;
  PrepareMixerInput(layer, Formats::Of({&w.q, &w.q_a, &w.kv_a}));
  const Product products[] = {
      {&w.kv_a, k_rows_, kv_width},
      {l.q_rank > 0 ? &w.q_a : &w.q, l.q_rank > 0 ? attended_ : q_, l.q_rank > 0 ? l.q_rank : a.heads * query}};
  products_.Multiply(mixer_input_, rows_, products);
  if (l.q_rank > 0) {
    inner_.formats = Formats::Of({&w.q_b});
    inner_.k = l.q_rank;
    ForRows(rows_, [&](int64_t row, int32_t thread) {
      StoreRow(w.q_a_norm, attended_ + row * l.q_rank, row, inner_, thread);
    });
    const Product q_b{&w.q_b, q_, a.heads * query};
    products_.Multiply(inner_, rows_, {&q_b, 1});
  }
  ForRows(rows_, [&](int64_t row, int32_t) { TurnLatentRow(a, w, row); });
  if (l.absorbed) {
    AbsorbQueries(a, w);
    ForRuns([&](const Run& run, int32_t) { WriteRun(layer, run, k_rows_, kv_width, k_rows_, kv_width); });
  } else {
    DecompressKeys(a, w);
    ForRuns(
        [&](const Run& run, int32_t) { WriteRun(layer, run, attended_, a.heads * a.k_dim, gate_, a.heads * a.v_dim); });
  }
}

void CpuDevice::TurnLatentRow(const model::AttentionSpec& a, const model::AttentionWeights& w, int64_t row) {
  const model::LatentSpec& l = a.latent;
  const int64_t query = l.nope_dim + l.rope_dim;
  float *q = q_ + row * a.heads * query, *kv = k_rows_ + row * (l.kv_rank + l.rope_dim);
  ApplyNorm(w.kv_a_norm, kv, l.kv_rank, kv);
  if (a.temperature_floor > 0) k_.scale(q, TemperatureAt(a, positions_[row]), a.heads * query, q);
  if (a.rope < 0) return;
  const model::RopeSpec& rope = spec_.ropes[a.rope];
  const float* table = rope_tables_[a.rope] + row * rope.rotated;
  k_.rope(q + l.nope_dim, a.heads, query, rope.rotated, rope.pairing, table);
  k_.rope(kv + l.kv_rank, 1, l.rope_dim, rope.rotated, rope.pairing, table);
}

// q_ becomes [heads][latent, rotated part].
void CpuDevice::AbsorbQueries(const model::AttentionSpec& a, const model::AttentionWeights& w) {
  const model::LatentSpec& l = a.latent;
  const int64_t query = l.nope_dim + l.rope_dim;
  slots_.formats = Formats::Of({&w.k_b});
  slots_.k = l.nope_dim;
  ForRows(rows_ * a.heads, [&](int64_t slot, int32_t) { products_.Store(slots_, slot, q_ + slot * query); });
  MultiplyHeads(w.k_b, a.heads, l.kv_rank, attended_, a.k_dim);
  ForRows(rows_ * a.heads, [&](int64_t slot, int32_t) {
    const float* rotated = q_ + slot * query + l.nope_dim;
    std::copy(rotated, rotated + l.rope_dim, attended_ + slot * a.k_dim + l.kv_rank);
  });
  std::swap(q_, attended_);
}

// Keys of all heads into attended_, values into gate_.
void CpuDevice::DecompressKeys(const model::AttentionSpec& a, const model::AttentionWeights& w) {
  const model::LatentSpec& l = a.latent;
  const int64_t kv_width = l.kv_rank + l.rope_dim, both = l.nope_dim + l.v_dim;
  inner_.formats = Formats::Of({&w.kv_b});
  inner_.k = l.kv_rank;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(inner_, row, k_rows_ + row * kv_width); });
  const Product kv_b{&w.kv_b, v_, a.heads * both};
  products_.Multiply(inner_, rows_, {&kv_b, 1});
  ForRows(rows_ * a.heads, [&](int64_t slot, int32_t) {
    const float *own = v_ + slot * both, *rotated = k_rows_ + slot / a.heads * kv_width + l.kv_rank;
    std::copy(own, own + l.nope_dim, attended_ + slot * a.k_dim);
    std::copy(rotated, rotated + l.rope_dim, attended_ + slot * a.k_dim + l.nope_dim);
    std::copy(own + l.nope_dim, own + both, gate_ + slot * l.v_dim);
  });
}

// attended_ becomes [heads][v_dim].
void CpuDevice::DecompressLatent(int32_t layer) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  if (!a.latent.absorbed) return;
  slots_.formats = Formats::Of({&w.v_b});
  slots_.k = a.latent.kv_rank;
  ForRows(rows_ * a.heads, [&](int64_t slot, int32_t) { products_.Store(slots_, slot, attended_ + slot * a.v_dim); });
  MultiplyHeads(w.v_b, a.heads, a.latent.v_dim, attended_, a.latent.v_dim);
}

}  // namespace inferd::device
