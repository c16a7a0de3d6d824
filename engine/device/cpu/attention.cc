// Attention of a layer: projections with what is done to queries and keys, K and V into the pages, then each query over
// its sequence's pages.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/device/cpu/cpu_device.h"

namespace inferd::device {
namespace {

void Clamp(float limit, int64_t n, float* x) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::clamp(x[i], -limit, limit);
}

}  // namespace

void CpuDevice::ProjectQkv(int32_t layer) {
  if (spec_.layers[layer].attention.latent.kv_rank > 0) return ProjectLatent(layer);
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  PrepareMixerInput(layer, Formats::Of({&w.q, &w.k, &w.v, &w.gate, &weights_.layers[layer].recurrent.in,
                                        &weights_.layers[layer].altup.laurel_left}));
  std::array<Product, 4> products;
  size_t count = 0;
  for (const Product& product : {Product{&w.q, q_, w.q.weights.rows}, Product{&w.k, k_rows_, w.k.weights.rows},
                                 Product{&w.v, v_, w.v.weights.rows}, Product{&w.gate, gate_, w.gate.weights.rows}}) {
    if (*product.linear) products[count++] = product;
  }
  products_.Multiply(mixer_input_, rows_, {products.data(), count});
  if (spec_.altup.streams > 0) RunLaurel(layer);
  ForRuns([&](const Run& run, int32_t) {
    for (int64_t i = 0; i < run.tokens; ++i) FinishQkvRow(layer, run.row + i, run.position + i);
    if (a.kv_of < 0) WriteRun(layer, run, k_rows_, w.k.weights.rows, v_, w.v.weights.rows);
  });
}

void CpuDevice::ApplyNormPerHead(const model::Norm& norm, model::QkNorm kind, int64_t heads, int64_t stride,
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

void CpuDevice::FinishQkvRow(int32_t layer, int64_t row, int64_t position) {
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
    const float* table = rope_tables_[a.rope] + row * rope.rotated;
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

float CpuDevice::TemperatureAt(const model::AttentionSpec& a, int64_t position) {
  const double steps = static_cast<double>((position + a.temperature_offset) / a.temperature_floor);
  return static_cast<float>(1.0 + static_cast<double>(a.temperature_scale) * kernels::exact::Log(steps + 1.0));
}

void CpuDevice::WriteRun(int32_t layer, const Run& run, const float* k, int64_t k_stride, const float* v,
                         int64_t v_stride) {
  void* page = PagesOf(layer, *run.sequence)[run.position / kernels::kPageTokens];
  k_.write_kv(ShapeOf(layer), page, static_cast<int32_t>(run.position % kernels::kPageTokens),
              static_cast<int32_t>(run.tokens), k + run.row * k_stride, k_stride, v + run.row * v_stride, v_stride);
}

void CpuDevice::Attend(int32_t layer) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  // One item: some tokens of a sequence, one KV head, and all or part of the query heads that share it.
  int64_t pieces = 0;
  for (const BatchSequence& sequence : batch_.sequences) pieces += (sequence.tokens + kQueryTokens - 1) / kQueryTokens;
  const int64_t group = a.heads / a.kv_heads;
  const bool few = pieces * a.kv_heads < 4 * pool_.threads();
  if (few && AttendInSpans(layer)) return;
  const int64_t part = a.gated_output || few ? 1 : group;
  const int64_t items_of_piece = a.kv_heads * (group / part);
  const int64_t items = pieces * items_of_piece;
  pool_.Run(items, [&](int64_t item, int32_t thread) {
    const int64_t reversed = items - 1 - item;  // the end of a prompt, which sees most, first
    int64_t piece = reversed / items_of_piece, of_piece = reversed % items_of_piece;
    size_t index = 0;
    for (int64_t n; piece >= (n = (batch_.sequences[index].tokens + kQueryTokens - 1) / kQueryTokens); ++index)
      piece -= n;
    const BatchSequence& sequence = batch_.sequences[index];
    const int64_t first = piece * kQueryTokens, tokens = std::min(kQueryTokens, sequence.tokens - first);
    const int64_t kv_head = of_piece / (group / part);
    AttendTokens(layer, sequence, {kv_head, kv_head * group + of_piece % (group / part) * part, part}, first, tokens,
                 thread);
  });
}

// Few queries over many keys: threads divide the keys, and each reads those of all heads of a group once. False: there
// is nothing to divide.
bool CpuDevice::AttendInSpans(int32_t layer) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const bool chunked = a.window_shape == model::WindowShape::kChunked && a.window > 0;
  if (pool_.threads() == 1 || rows_ > kSpanRows || chunked || spec_.encoder) return false;
  const int64_t group = a.gated_output ? 1 : a.heads / a.kv_heads;
  const int64_t row_floats = kernels::SpanStateFloats(a.v_dim);
  span_parts_.clear();
  span_items_.clear();
  float* states = span_states_;
  int64_t most_spans = 0;
  for (const BatchSequence& sequence : batch_.sequences) {
    const int64_t first_key = a.window > 0 ? std::max<int64_t>(0, sequence.first_position - a.window + 1) : 0;
    const int64_t begin = first_key / kernels::kSpanTokens;
    const int64_t spans = (sequence.first_position + sequence.tokens - 1) / kernels::kSpanTokens + 1 - begin;
    most_spans = std::max(most_spans, spans);
    for (int64_t head = 0; head < a.heads; head += group) {
      const HeadGroup heads{head / (a.heads / a.kv_heads), head, group};
      const int64_t span_floats = sequence.tokens * group * row_floats;
      span_parts_.push_back({&sequence, heads, spans, states});
      for (int64_t span = 0; span < spans; ++span, states += span_floats) {
        span_items_.push_back({span_parts_.size() - 1, begin + span, states});
      }
    }
  }
  if (most_spans < 2) return false;
  pool_.Run(static_cast<int64_t>(span_items_.size()), [&](int64_t index, int32_t thread) {
    const SpanItem& item = span_items_[index];
    const SpanPart& part = span_parts_[item.part];
    k_.attention_span(ArgumentsOf(layer, *part.sequence, part.heads, 0, part.sequence->tokens, thread), item.span,
                      item.state);
  });
  pool_.Run(static_cast<int64_t>(span_parts_.size()), [&](int64_t index, int32_t thread) {
    const SpanPart& part = span_parts_[index];
    k_.merge_spans(ArgumentsOf(layer, *part.sequence, part.heads, 0, part.sequence->tokens, thread), part.spans,
                   part.states);
  });
  return true;
}

void CpuDevice::AttendTokens(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads, int64_t first,
                             int64_t tokens, int32_t thread) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const bool chunked = a.window_shape == model::WindowShape::kChunked && a.window > 0;
  while (tokens > 0) {
    const int64_t position = sequence.first_position + first;
    const int64_t here = chunked ? std::min(tokens, a.window - position % a.window) : tokens;
    k_.attention(ArgumentsOf(layer, sequence, heads, first, here, thread));
    first += here;
    tokens -= here;
  }
}

// Of the sequence's tokens first..first+tokens-1; where windows are chunks, they lie in one.
kernels::AttentionArguments CpuDevice::ArgumentsOf(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads,
                                                   int64_t first, int64_t tokens, int32_t thread) const {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  const bool chunked = a.window_shape == model::WindowShape::kChunked && a.window > 0;
  const int64_t head_stride = a.gated_output ? 2 * a.k_dim : a.k_dim;
  const int64_t q_stride = a.heads * head_stride, out_stride = a.heads * a.v_dim;
  const int64_t row = sequence.row_begin + first, position = sequence.first_position + first;
  const std::vector<float>& slopes = alibi_slopes_[layer];
  return {.shape = ShapeOf(layer),
          .pages = PagesOf(a.kv_of < 0 ? layer : a.kv_of, sequence),
          .kv_head = static_cast<int32_t>(heads.kv_head),
          .group = static_cast<int32_t>(heads.count),
          .queries = tokens,
          .position = position,
          .first_key = chunked ? position / a.window * a.window : 0,
          .window = chunked ? 0 : a.window,
          .bidirectional_end = spec_.encoder ? sequence.first_position + sequence.tokens : 0,
          .q = q_ + row * q_stride + heads.first * head_stride,
          .q_stride = q_stride,
          .out = attended_ + row * out_stride + heads.first * a.v_dim,
          .out_stride = out_stride,
          .scale = a.scale,
          .soft_cap = a.soft_cap,
          .alibi_slopes = slopes.empty() ? nullptr : slopes.data() + heads.first,
          .sinks = w.sinks == nullptr ? nullptr : w.sinks + heads.first,
          .scratch = scratch_[thread].attention};
}

// attended [heads][v_dim] *= sigmoid of its gate, which has an element for each or one for each head.
void CpuDevice::GateRow(const model::AttentionSpec& a, float* gate, float* attended) const {
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

void CpuDevice::ProjectAttention(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  if (a.latent.kv_rank > 0) DecompressLatent(layer);
  inner_.formats = Formats::Of({&w.attention.output});
  inner_.k = w.attention.output.weights.k;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float* attended = attended_ + row * inner_.k;
    for (int64_t head = 0; a.gated_output && head < a.heads; ++head) {
      const float* gate = q_ + (row * a.heads + head) * 2 * a.k_dim + a.k_dim;
      k_.gate(kernels::Activation::kSigmoid, gate, attended + head * a.v_dim, a.v_dim, attended + head * a.v_dim);
    }
    if (a.value_scale != 1) k_.scale(attended, a.value_scale, inner_.k, attended);
    if (a.gate_tensor != model::GateTensor::kNone) GateRow(a, gate_ + row * w.attention.gate.weights.rows, attended);
    StoreRow(w.inside_mixer, attended, row, inner_, thread);
  });
  AddBranch(w.attention.output, w.after_mixer, w.after_mixer_sum);
  if (spec_.altup.streams > 0) AddLaurel();
}

}  // namespace inferd::device
