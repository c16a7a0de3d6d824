#include "engine/device/gpu/gpu_attention.h"

#include <algorithm>

#include "engine/device/attention_factors.h"
#include "engine/device/cache_layout.h"
#include "kernels/gpu/layouts.h"

namespace inferd::device {

using kernels::gpu::HeadArguments;

absl::Status GpuAttention::Allocate() {
  int64_t q = 0, k = 0, v = 0, gate = 0, out = 0, states = 0;
  for (int32_t layer = 0; layer < static_cast<int32_t>(c_.spec.layers.size()); ++layer) {
    const model::AttentionSpec& a = c_.spec.layers[layer].attention;
    alibi_slopes_.push_back(AlibiSlopes(a));
    if (a.heads == 0 || !c_.layers.Has(layer)) continue;
    q = std::max(q, a.heads * a.k_dim * (a.gated_output ? 2 : 1));
    k = std::max(k, a.kv_heads * a.k_dim);
    v = std::max(v, a.kv_heads * a.v_dim);
    gate = std::max(gate, a.heads * a.v_dim);
    out = std::max(out, a.heads * a.v_dim);
    states = std::max(states, a.heads * kernels::SpanStateFloats(a.v_dim));
    RETURN_IF_ERROR(UploadLayer(layer));
  }
  const int64_t rows = c_.options.max_batch_tokens;
  const int64_t spans = (c_.options.context_tokens + kernels::kSpanTokens - 1) / kernels::kSpanTokens + 1;
  ASSIGN_OR_RETURN(input_, c_.math.TakeInput(rows, c_.spec.width));
  ASSIGN_OR_RETURN(inner_input_, c_.math.TakeInput(rows, out));
  ASSIGN_OR_RETURN(q_, c_.math.TakeFloats(rows * q));
  ASSIGN_OR_RETURN(k_, c_.math.TakeFloats(rows * k));
  ASSIGN_OR_RETURN(v_, c_.math.TakeFloats(rows * v));
  ASSIGN_OR_RETURN(gate_, c_.math.TakeFloats(rows * gate));
  ASSIGN_OR_RETURN(attended_, c_.math.TakeFloats(rows * out));
  ASSIGN_OR_RETURN(normed_, c_.math.TakeFloats(rows * out));
  ASSIGN_OR_RETURN(states_, c_.math.TakeFloats(std::min(rows, kRowsAtOnce) * spans * states));
  return absl::OkStatus();
}

absl::Status GpuAttention::UploadLayer(int32_t layer) {
  const model::AttentionSpec& a = c_.spec.layers[layer].attention;
  const model::LayerWeights& w = c_.weights.layers[layer];
  for (const model::Linear* linear :
       {&w.attention.q, &w.attention.k, &w.attention.v, &w.attention.gate, &w.attention.output}) {
    RETURN_IF_ERROR(c_.math.Upload(*linear));
  }
  RETURN_IF_ERROR(c_.math.Upload(w.attention.sinks, a.heads));
  RETURN_IF_ERROR(c_.math.Upload(alibi_slopes_[layer].empty() ? nullptr : alibi_slopes_[layer].data(), a.heads));
  const bool shared = a.qk_norm == model::QkNorm::kShared;
  RETURN_IF_ERROR(c_.math.Upload(w.attention.q_norm, shared ? a.k_dim : a.heads * a.k_dim));
  RETURN_IF_ERROR(c_.math.Upload(w.attention.k_norm, shared ? a.k_dim : a.kv_heads * a.k_dim));
  return c_.math.Upload(w.inside_mixer, a.heads * a.v_dim);
}

void GpuAttention::Project(int32_t layer, const float* normed) {
  const model::AttentionSpec& a = c_.spec.layers[layer].attention;
  const model::AttentionWeights& w = c_.weights.layers[layer].attention;
  const int64_t rows = c_.batch.rows();
  auto *const k = k_.As<float>(), *const v = v_.As<float>();
  const Input input = c_.math.Store(normed, rows, c_.spec.width, {&w.q, &w.k, &w.v, &w.gate}, input_);
  const std::pair<const model::Linear*, float*> products[] = {
      {&w.q, q_.As<float>()}, {&w.k, k}, {&w.v, v}, {&w.gate, gate_.As<float>()}};
  for (const auto& [linear, out] : products) {
    if (*linear) c_.math.Multiply(*linear, input, rows, out);
  }
  if (a.clamp_qkv > 0) {
    for (const auto& [linear, out] : std::span(products).first(3)) {
      c_.gpu.Clamp(a.clamp_qkv, *linear ? rows * linear->weights.rows : 0, out);
    }
  }
  const bool own = a.kv_of < 0;
  if (own && a.norm_values) {
    const model::Norm plain{.present = true, .epsilon = c_.spec.norm.epsilon};
    NormHeads(plain, model::QkNorm::kPlain, a.kv_heads, a.v_dim, a.v_dim, v);
  }
  if (!a.qk_norm_after_rope) NormQueriesAndKeys(layer);
  Turn(layer);
  if (a.qk_norm_after_rope) NormQueriesAndKeys(layer);
  const int64_t q_stride = a.gated_output ? 2 * a.k_dim : a.k_dim;
  if (a.temperature_floor > 0) {
    const HeadArguments heads{q_.As<float>(), a.heads * q_stride, q_stride, static_cast<int32_t>(a.heads), a.k_dim};
    c_.gpu.ScaleHeads(heads, rows, c_.batch.temperatures(layer), 1, 0);
  }
  if (!own) return;
  c_.gpu.WriteKv(rows, {.layout = kernels::gpu::LayoutOf(PageShapeOf(a, c_.options.cache.type)),
                        .pages = c_.batch.pages(layer),
                        .page_of = c_.batch.page_of(layer),
                        .positions = c_.batch.positions(),
                        .k = k,
                        .k_stride = w.k.weights.rows,
                        .v = v,
                        .v_stride = w.v.weights.rows});
}

void GpuAttention::NormHeads(const model::Norm& norm, model::QkNorm kind, int64_t heads, int64_t stride, int64_t dim,
                             float* x) {
  if (!norm.present) return;
  const int64_t rows = c_.batch.rows();
  if (kind == model::QkNorm::kWhole) return c_.math.ApplyNorm(norm, rows, heads * dim, x, x);
  const int64_t own = kind == model::QkNorm::kPerHead ? heads : 1;
  c_.math.ApplyHeadNorm(norm, {.rows = rows * heads, .n = dim, .stride = stride, .heads = own}, x);
}

void GpuAttention::NormQueriesAndKeys(int32_t layer) {
  const model::AttentionSpec& a = c_.spec.layers[layer].attention;
  const model::AttentionWeights& w = c_.weights.layers[layer].attention;
  NormHeads(w.q_norm, a.qk_norm, a.heads, a.gated_output ? 2 * a.k_dim : a.k_dim, a.k_dim, q_.As<float>());
  if (a.kv_of < 0) NormHeads(w.k_norm, a.qk_norm, a.kv_heads, a.k_dim, a.k_dim, k_.As<float>());
}

void GpuAttention::Turn(int32_t layer) {
  const model::AttentionSpec& a = c_.spec.layers[layer].attention;
  if (a.rope < 0) return;
  const model::RopeSpec& rope = c_.spec.ropes[a.rope];
  const int64_t q_stride = a.gated_output ? 2 * a.k_dim : a.k_dim;
  const HeadArguments q{q_.As<float>(), a.heads * q_stride, q_stride, static_cast<int32_t>(a.heads), rope.rotated};
  const HeadArguments k{k_.As<float>(), a.kv_heads * a.k_dim, a.k_dim, static_cast<int32_t>(a.kv_heads), rope.rotated};
  c_.gpu.Rope(q, c_.batch.rows(), rope.pairing, c_.batch.rope_table(a.rope));
  if (a.kv_of < 0) c_.gpu.Rope(k, c_.batch.rows(), rope.pairing, c_.batch.rope_table(a.rope));
}

void GpuAttention::Attend(int32_t layer) {
  const model::AttentionSpec& a = c_.spec.layers[layer].attention;
  const model::AttentionWeights& w = c_.weights.layers[layer].attention;
  const int64_t head_stride = a.gated_output ? 2 * a.k_dim : a.k_dim, q_stride = a.heads * head_stride;
  const int64_t out_stride = a.heads * a.v_dim;
  for (int64_t row = 0; row < c_.batch.rows(); row += kRowsAtOnce) {
    const int64_t rows = std::min(kRowsAtOnce, c_.batch.rows() - row);
    c_.gpu.Attend(rows,
                  {.layout = kernels::gpu::LayoutOf(PageShapeOf(a, c_.options.cache.type)),
                   .pages = c_.batch.pages(layer),
                   .first_page = c_.batch.first_page(layer) + row,
                   .positions = c_.batch.positions() + row,
                   .seen = c_.batch.seen(layer) + row,
                   .heads = static_cast<int32_t>(a.heads),
                   .group = static_cast<int32_t>(a.heads / a.kv_heads),
                   .q = q_.As<float>() + row * q_stride,
                   .q_stride = q_stride,
                   .head_stride = head_stride,
                   .scale = a.scale,
                   .soft_cap = a.soft_cap,
                   .alibi_slopes =
                       alibi_slopes_[layer].empty() ? nullptr : c_.math.Of(std::as_const(alibi_slopes_[layer]).data()),
                   .sinks = c_.math.Of(w.sinks),
                   .states = states_.As<float>(),
                   .spans = c_.batch.SpansOf(layer, row, rows),
                   .out = attended_.As<float>() + row * out_stride,
                   .out_stride = out_stride});
  }
}

void GpuAttention::GateOutput(int32_t layer) {
  const model::AttentionSpec& a = c_.spec.layers[layer].attention;
  const int64_t rows = c_.batch.rows(), n = a.heads * a.v_dim;
  auto *const attended = attended_.As<float>(), *const gate = gate_.As<float>();
  const HeadArguments heads{attended, n, a.v_dim, static_cast<int32_t>(a.heads), a.v_dim};
  if (a.gated_output) {
    c_.gpu.GateHeads(kernels::Activation::kSigmoid, heads, rows, q_.As<float>() + a.k_dim, a.heads * 2 * a.k_dim,
                     2 * a.k_dim);
  }
  if (a.value_scale != 1) c_.gpu.Scale(attended, a.value_scale, rows * n, attended);
  if (a.gate_tensor == model::GateTensor::kElements) {
    c_.gpu.Gate(a.gate_activation, gate, attended, rows * n, attended);
  } else if (a.gate_tensor == model::GateTensor::kHeads) {
    c_.gpu.Activate(a.gate_activation, gate, rows * a.heads, gate);
    c_.gpu.ScaleHeads(heads, rows, gate, a.heads, 1);
  }
}

void GpuAttention::Finish(int32_t layer) {
  const model::LayerWeights& w = c_.weights.layers[layer];
  const int64_t rows = c_.batch.rows(), n = w.attention.output.weights.k;
  GateOutput(layer);
  const float* inner = attended_.As<float>();
  if (w.inside_mixer.present) {
    c_.math.ApplyNorm(w.inside_mixer, rows, n, inner, normed_.As<float>());
    inner = normed_.As<float>();
  }
  const Input input = c_.math.Store(inner, rows, n, {&w.attention.output}, inner_input_);
  stream_.AddProduct(input, w.attention.output, w.after_mixer, w.after_mixer_sum);
}

}  // namespace inferd::device
