#include "engine/device/cpu/paged_attention.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/device/attention_factors.h"
#include "engine/device/cache_layout.h"

namespace inferd::device {

PagedAttention::PagedAttention(const BlockContext& context) : Block(context), thread_scratch_(pool_.threads()) {
  for (const model::LayerSpec& layer : spec_.layers) alibi_slopes_.push_back(AlibiSlopes(layer.attention));
}

kernels::PageShape PagedAttention::ShapeOf(int32_t layer) const {
  return PageShapeOf(spec_.layers[layer].attention, options_.cache.type);
}

absl::Status PagedAttention::Allocate() {
  size_t scratch_bytes = 64;
  int64_t span_floats = 0;  // of one row and span
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    const model::AttentionSpec& a = spec_.layers[i].attention;
    if (a.heads == 0) continue;
    const auto group = static_cast<int32_t>(a.heads / a.kv_heads);
    scratch_bytes =
        std::max(scratch_bytes, k_.attention_scratch_bytes(ShapeOf(static_cast<int32_t>(i)), group, kQueryTokens));
    span_floats = std::max(span_floats, a.heads * kernels::SpanStateFloats(a.v_dim));
  }
  for (void*& scratch : thread_scratch_) {
    ASSIGN_OR_RETURN(scratch, workspace_.Take<uint8_t>(static_cast<int64_t>(scratch_bytes)));
  }
  if (pool_.threads() == 1) return absl::OkStatus();
  const int64_t spans = (options_.context_tokens + kernels::kSpanTokens - 1) / kernels::kSpanTokens;
  ASSIGN_OR_RETURN(span_states_, workspace_.Take<float>(kSpanRows * spans * span_floats));
  return absl::OkStatus();
}

void PagedAttention::WriteRun(int32_t layer, const device::Run& run, const float* k, int64_t k_stride, const float* v,
                              int64_t v_stride) {
  void* page = batch_.PagesOf(layer, *run.sequence)[run.position / kernels::kPageTokens];
  k_.write_kv(ShapeOf(layer), page, static_cast<int32_t>(run.position % kernels::kPageTokens),
              static_cast<int32_t>(run.tokens), k + run.row * k_stride, k_stride, v + run.row * v_stride, v_stride);
}

void PagedAttention::Run(int32_t layer, const float* q, float* out) {
  q_ = q;
  out_ = out;
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const std::span<const BatchSequence> sequences = batch_.sequences();
  // One item: some tokens of a sequence, one KV head, and all or part of the query heads that share it.
  int64_t pieces = 0;
  for (const BatchSequence& sequence : sequences) pieces += (sequence.tokens + kQueryTokens - 1) / kQueryTokens;
  const int64_t group = a.heads / a.kv_heads;
  const bool few = pool_.threads() > 1 && pieces * a.kv_heads < 4 * pool_.threads();
  if (few && RunInSpans(layer)) return;
  const int64_t part = a.gated_output || few ? 1 : group;
  const int64_t items_of_piece = a.kv_heads * (group / part);
  const int64_t items = pieces * items_of_piece;
  pool_.Run(items, [&](int64_t item, int32_t thread) {
    const int64_t reversed = items - 1 - item;  // the end of a prompt, which sees most, first
    int64_t piece = reversed / items_of_piece, of_piece = reversed % items_of_piece;
    size_t index = 0;
    for (int64_t n; piece >= (n = (sequences[index].tokens + kQueryTokens - 1) / kQueryTokens); ++index) piece -= n;
    const BatchSequence& sequence = sequences[index];
    const int64_t first = piece * kQueryTokens, tokens = std::min(kQueryTokens, sequence.tokens - first);
    const int64_t kv_head = of_piece / (group / part);
    RunTokens(layer, sequence, {kv_head, kv_head * group + of_piece % (group / part) * part, part}, first, tokens,
              thread);
  });
}

// Fills span_parts_ and span_items_; returns the spans of the sequence that has most.
int64_t PagedAttention::DivideIntoSpans(const model::AttentionSpec& a) {
  const int64_t group = a.gated_output ? 1 : a.heads / a.kv_heads;
  const int64_t row_floats = kernels::SpanStateFloats(a.v_dim);
  span_parts_.clear();
  span_items_.clear();
  float* states = span_states_;
  int64_t most_spans = 0;
  for (const BatchSequence& sequence : batch_.sequences()) {
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
  return most_spans;
}

// Few queries over many keys: threads divide the keys, and each reads those of all heads of a group once. False: there
// is nothing to divide.
bool PagedAttention::RunInSpans(int32_t layer) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  if (rows() > kSpanRows || Chunked(a) || spec_.encoder) return false;
  if (DivideIntoSpans(a) < 2) return false;
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

void PagedAttention::RunTokens(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads, int64_t first,
                               int64_t tokens, int32_t thread) {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  while (tokens > 0) {
    const int64_t position = sequence.first_position + first;
    const int64_t here = Chunked(a) ? std::min(tokens, a.window - position % a.window) : tokens;
    k_.attention(ArgumentsOf(layer, sequence, heads, first, here, thread));
    first += here;
    tokens -= here;
  }
}

// Of the sequence's tokens first..first+tokens-1; where windows are chunks, they lie in one.
kernels::AttentionArguments PagedAttention::ArgumentsOf(int32_t layer, const BatchSequence& sequence,
                                                        const HeadGroup& heads, int64_t first, int64_t tokens,
                                                        int32_t thread) const {
  const model::AttentionSpec& a = spec_.layers[layer].attention;
  const model::AttentionWeights& w = weights_.layers[layer].attention;
  const int64_t head_stride = a.gated_output ? 2 * a.k_dim : a.k_dim;
  const int64_t q_stride = a.heads * head_stride, out_stride = a.heads * a.v_dim;
  const int64_t row = sequence.row_begin + first, position = sequence.first_position + first;
  const std::vector<float>& slopes = alibi_slopes_[layer];
  return {.shape = ShapeOf(layer),
          .pages = batch_.PagesOf(a.kv_of < 0 ? layer : a.kv_of, sequence),
          .kv_head = static_cast<int32_t>(heads.kv_head),
          .group = static_cast<int32_t>(heads.count),
          .queries = tokens,
          .position = position,
          .first_key = Chunked(a) ? position / a.window * a.window : 0,
          .window = Chunked(a) ? 0 : a.window,
          .bidirectional_end = spec_.encoder ? sequence.first_position + sequence.tokens : 0,
          .q = q_ + row * q_stride + heads.first * head_stride,
          .q_stride = q_stride,
          .out = out_ + row * out_stride + heads.first * a.v_dim,
          .out_stride = out_stride,
          .scale = a.scale,
          .soft_cap = a.soft_cap,
          .alibi_slopes = slopes.empty() ? nullptr : slopes.data() + heads.first,
          .sinks = w.sinks == nullptr ? nullptr : w.sinks + heads.first,
          .scratch = thread_scratch_[thread]};
}

}  // namespace inferd::device
