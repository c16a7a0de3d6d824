#include "engine/device/cpu/attention.h"

#include <algorithm>
#include <array>

#include "config/base/status.h"
#include "engine/device/attention_factors.h"

namespace inferd::device {
namespace {

void Clamp(float limit, int64_t n, float* x) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::clamp(x[i], -limit, limit);
}

}  // namespace

int64_t Attention::widest_row() const {
  int64_t widest = 0;
  for (const model::LayerSpec& layer : spec_.layers) {
    if (Has(layer)) widest = std::max(widest, layer.attention.heads * layer.attention.v_dim);
  }
  return widest;
}

absl::Status Attention::Allocate() {
  int64_t q = 0, k = 0, v = 0, gate = 0;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::AttentionSpec& a = layer.attention;
    if (!Has(layer)) continue;
    q = std::max(q, a.heads * a.k_dim * (a.gated_output ? 2 : 1));
    k = std::max(k, a.kv_heads * a.k_dim);
    v = std::max(v, a.kv_heads * a.v_dim);
    if (a.gate_tensor != model::GateTensor::kNone) gate = std::max(gate, a.heads * a.v_dim);
  }
  ASSIGN_OR_RETURN(q_, TakeRows(q));
  ASSIGN_OR_RETURN(k_rows_, TakeRows(k));
  ASSIGN_OR_RETURN(v_, TakeRows(v));
  ASSIGN_OR_RETURN(gate_, TakeRows(gate));
  ASSIGN_OR_RETURN(attended_, TakeRows(widest_row()));
  ASSIGN_OR_RETURN(inner_, TakeActivations(most_rows(), widest_row()));
  return paged_.Allocate();
}

Formats Attention::InputFormats(int32_t layer) const {
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  return Formats::Of({&w.q, &w.k, &w.v, &w.gate});
}

void Attention::Project(int32_t layer, const Activations& input) {
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  std::array<Product, 4> products;
  size_t count = 0;
  for (const Product& product : {Product{&w.q, q_, w.q.weights.rows}, Product{&w.k, k_rows_, w.k.weights.rows},
                                 Product{&w.v, v_, w.v.weights.rows}, Product{&w.gate, gate_, w.gate.weights.rows}}) {
    if (*product.linear) products[count++] = product;
  }
  products_.Multiply(input, rows(), {products.data(), count});
  ForRuns([&](const Run& run, int32_t) {
    for (int64_t i = 0; i < run.tokens; ++i) FinishRow(layer, run.row + i, run.position + i);
    if (spec_.layers[layer].attention.kv_of >= 0) return;
    paged_.WriteRun(layer, run, k_rows_, w.k.weights.rows, v_, w.v.weights.rows);
  });
}

void Attention::ApplyNormPerHead(const model::Norm& norm, model::QkNorm kind, int64_t heads, int64_t stride,
                                 int64_t dim, float* x) const {
  if (!norm.present) return;
  if (kind == model::QkNorm::kWhole) return ApplyNorm(norm, x, heads * dim, x);
  for (int64_t head = 0; head < heads; ++head) {
    model::Norm own = norm;
    if (kind == model::QkNorm::kPerHead && norm.weight != nullptr) own.weight += head * dim;
    if (kind == model::QkNorm::kPerHead && norm.bias != nullptr) own.bias += head * dim;
    ApplyNorm(own, x + head * stride, dim, x + head * stride);
  }
}

void Attention::FinishRow(int32_t layer, int64_t row, int64_t position) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  const int64_t q_stride = a.gated_output ? 2 * a.k_dim : a.k_dim;  // a gate lies after each head's query
  float *q = q_ + row * w.q.weights.rows, *k = k_rows_ + row * w.k.weights.rows, *v = v_ + row * w.v.weights.rows;
  if (a.clamp_qkv > 0) {
    Clamp(a.clamp_qkv, w.q.weights.rows, q);
    Clamp(a.clamp_qkv, w.k.weights.rows, k);
    Clamp(a.clamp_qkv, w.v.weights.rows, v);
  }
  const bool own = a.kv_of < 0;
  if (own && a.norm_values) {
    const model::Norm plain{.present = true, .epsilon = spec_.norm.epsilon};
    ApplyNormPerHead(plain, model::QkNorm::kPlain, a.kv_heads, a.v_dim, a.v_dim, v);
  }
  const auto norm = [&] {
    ApplyNormPerHead(w.q_norm, a.qk_norm, a.heads, q_stride, a.k_dim, q);
    if (own) ApplyNormPerHead(w.k_norm, a.qk_norm, a.kv_heads, a.k_dim, a.k_dim, k);
  };
  if (!a.qk_norm_after_rope) norm();
  if (a.rope >= 0) {
    const model::RopeSpec& rope = spec_.ropes[a.rope];
    const float* table = ropes_.Row(a.rope, row);
    k_.rope(q, a.heads, q_stride, rope.rotated, rope.pairing, table);
    if (own) k_.rope(k, a.kv_heads, a.k_dim, rope.rotated, rope.pairing, table);
  }
  if (a.qk_norm_after_rope) norm();
  if (a.temperature_floor > 0) {
    const float factor = TemperatureAt(a, position);
    for (int64_t head = 0; head < a.heads; ++head) {
      k_.scale(q + head * q_stride, factor, a.k_dim, q + head * q_stride);
    }
  }
}

// attended [heads][v_dim] *= sigmoid of its gate, which has an element for each or one for each head.
void Attention::GateRow(const model::AttentionSpec& a, float* gate, float* attended) const {
  const int64_t n = a.heads * a.v_dim;
  if (a.gate_tensor == model::GateTensor::kElements) {
    k_.gate(a.gate_activation, gate, attended, n, attended);
    return;
  }
  k_.activate(a.gate_activation, gate, a.heads, gate);
  for (int64_t head = 0; head < a.heads; ++head) {
    k_.scale(attended + head * a.v_dim, gate[head], a.v_dim, attended + head * a.v_dim);
  }
}

void Attention::Finish(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  inner_.formats = Formats::Of({&w.attention.output});
  inner_.k = w.attention.output.weights.k;
  ForRows([&](int64_t row, int32_t thread) {
    float* attended = attended_ + row * inner_.k;
    for (int64_t head = 0; a.gated_output && head < a.heads; ++head) {
      const float* gate = q_ + (row * a.heads + head) * 2 * a.k_dim + a.k_dim;
      k_.gate(kernels::Activation::kSigmoid, gate, attended + head * a.v_dim, a.v_dim, attended + head * a.v_dim);
    }
    if (a.value_scale != 1) k_.scale(attended, a.value_scale, inner_.k, attended);
    if (a.gate_tensor != model::GateTensor::kNone) GateRow(a, gate_ + row * w.attention.gate.weights.rows, attended);
    StoreRow(w.inside_mixer, attended, row, inner_, thread);
  });
  stream_.AddProduct(inner_, w.attention.output, w.after_mixer, w.after_mixer_sum);
}

}  // namespace inferd::device
