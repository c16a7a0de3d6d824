// Attention over pages with an online softmax (arXiv:2205.14135, algorithm 1, one page of keys at a time), in spans of
// 512 keys that are merged.
//
// For each query head, each span that has a key which the query sees, and each of its pages in ascending order:
//   score[t] = scale * sum_d q[d] K[d][t]        d ascending by fma from +0, then soft cap and slope
//   m'       = max(m, scores of the page's seen keys)
//   weight[t] = exp(score[t] - m'), correction = exp(m - m')
//   l = l * correction + sum of the weights in 16 lanes;  o = o * correction, then fma(weight[t], V[t], o), t ascending
// A span starts with m = -infinity and l = 0; only the first one of a query with a sink starts with m at the sink's
// score and l = 1. Spans are merged in ascending order, (m, l, o) being those before and (m", l", o") the next one:
//   m' = max(m, m"), e = exp(m - m'), e" = exp(m" - m');  l = fma(l, e, l" * e");  o = fma(o, e, o" * e")
// and at the end o / l, as o * (1 / l).
#include <cmath>
#include <limits>

#include "kernels/lanes/elementary.h"
#include "kernels/reference/half.h"
#include "kernels/reference/lane_sum.h"
#include "kernels/reference/page.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {
namespace {

// The values of one KV head in one page as f32; q8_0 gives scale * int8, which is exact.
class HeadPage {
 public:
  HeadPage(const AttentionArguments& a, const void* page) : type_(a.shape.type), v_dim_(a.shape.v_dim) {
    const PageOffsets offsets = OffsetsOf(a.shape, a.kv_head);
    const std::byte* base = static_cast<const std::byte*>(page);
    k_ = base + offsets.k;
    v_ = base + offsets.v;
    k_scales_ = base + offsets.k_scales;
    v_scales_ = base + offsets.v_scales;
  }

  float K(int64_t d, int64_t t) const { return Value(k_, k_scales_, d * kPageTokens + t, d, t); }
  float V(int64_t t, int64_t d) const { return Value(v_, v_scales_, t * v_dim_ + d, d, t); }

 private:
  float Value(const std::byte* data, const std::byte* scales, int64_t index, int64_t d, int64_t t) const {
    switch (type_) {
      case CacheType::kF32:
        return reinterpret_cast<const float*>(data)[index];
      case CacheType::kF16:
        return FloatFromHalf(reinterpret_cast<const uint16_t*>(data)[index]);
      case CacheType::kQ8_0: {
        const uint16_t scale = reinterpret_cast<const uint16_t*>(scales)[d / kScaleDims * kPageTokens + t];
        return FloatFromHalf(scale) * static_cast<float>(reinterpret_cast<const int8_t*>(data)[index]);
      }
    }
    return 0.0f;
  }

  CacheType type_;
  int64_t v_dim_;
  const std::byte *k_, *v_, *k_scales_, *v_scales_;
};

// One query head of one token.
struct Query {
  const AttentionArguments& a;
  int32_t head;  // 0..group-1
  int64_t position;
  const float* q;
};

// The softmax so far. Its sum is 0 until a key was seen.
struct State {
  float maximum, sum;
  float* values;  // [v_dim]
};

float Score(const Query& query, const HeadPage& page, int64_t key) {
  const AttentionArguments& a = query.a;
  float score = 0.0f;
  for (int64_t d = 0; d < a.shape.k_dim; ++d) score = std::fma(query.q[d], page.K(d, key % kPageTokens), score);
  score = score * a.scale;
  if (a.soft_cap != 0.0f) score = a.soft_cap * Tanh<Scalar>(score / a.soft_cap);
  if (a.alibi_slopes != nullptr) {
    score = std::fma(a.alibi_slopes[query.head], -static_cast<float>(std::abs(key - query.position)), score);
  }
  return score;
}

// Adds the keys first..end-1, all of one page.
void AddPage(const Query& query, int64_t first, int64_t end, State& state) {
  const AttentionArguments& a = query.a;
  const HeadPage page(a, a.pages[first / kPageTokens]);
  float scores[kPageTokens];
  float maximum = state.maximum;
  for (int64_t key = first; key < end; ++key) {
    const float score = Score(query, page, key);
    scores[key % kPageTokens] = score;
    maximum = maximum < score ? score : maximum;
  }
  const float correction = Exp<Scalar>(state.maximum - maximum);
  LaneSum sum;
  for (int64_t key = first; key < end; ++key) {
    float& weight = scores[key % kPageTokens];
    weight = Exp<Scalar>(weight - maximum);
    sum.Add(key % kPageTokens, weight);
  }
  state.sum = std::fma(state.sum, correction, sum.Total());
  state.maximum = maximum;
  for (int64_t d = 0; d < a.shape.v_dim; ++d) {
    float out = state.values[d] * correction;
    for (int64_t key = first; key < end; ++key) {
      out = std::fma(scores[key % kPageTokens], page.V(key % kPageTokens, d), out);
    }
    state.values[d] = out;
  }
}

void AttendSpan(const Query& query, int64_t span, State& state) {
  const AttentionArguments& a = query.a;
  const KeyRange seen = SeenKeys(a, query.position);
  const int64_t span_end = (span + 1) * kSpanTokens;
  const int64_t last = span_end < seen.end ? span_end : seen.end;
  int64_t first = span * kSpanTokens > seen.first ? span * kSpanTokens : seen.first;
  const bool sink = a.sinks != nullptr && span == seen.first / kSpanTokens;
  state.maximum = sink ? a.sinks[query.head] : -std::numeric_limits<float>::infinity();
  state.sum = sink ? 1.0f : 0.0f;
  for (int64_t d = 0; d < a.shape.v_dim; ++d) state.values[d] = 0.0f;
  while (first < last) {
    const int64_t page_end = (first / kPageTokens + 1) * kPageTokens;
    const int64_t end = page_end < last ? page_end : last;
    AddPage(query, first, end, state);
    first = end;
  }
}

// Adds the next span to those before.
void Merge(float maximum, float sum, const float* values, int64_t v_dim, State& merged) {
  if (sum == 0.0f) return;
  if (merged.sum == 0.0f) {
    merged.maximum = maximum;
    merged.sum = sum;
    for (int64_t d = 0; d < v_dim; ++d) merged.values[d] = values[d];
    return;
  }
  const float largest = merged.maximum < maximum ? maximum : merged.maximum;
  const float before = Exp<Scalar>(merged.maximum - largest), after = Exp<Scalar>(maximum - largest);
  merged.maximum = largest;
  merged.sum = std::fma(merged.sum, before, sum * after);
  for (int64_t d = 0; d < v_dim; ++d) merged.values[d] = std::fma(merged.values[d], before, values[d] * after);
}

void Divide(State& state, int64_t v_dim) {
  const float factor = 1.0f / state.sum;
  for (int64_t d = 0; d < v_dim; ++d) state.values[d] = state.values[d] * factor;
}

Query QueryOf(const AttentionArguments& a, int64_t query, int32_t head) {
  return {a, head, a.position + query, a.q + query * a.q_stride + static_cast<int64_t>(head) * a.shape.k_dim};
}

float* OutOf(const AttentionArguments& a, int64_t query, int32_t head) {
  return a.out + query * a.out_stride + static_cast<int64_t>(head) * a.shape.v_dim;
}

}  // namespace

KeyRange SeenKeys(const AttentionArguments& a, int64_t position) {
  KeyRange seen{a.first_key, position + 1};
  if (a.bidirectional_end > 0) {
    seen = {0, a.bidirectional_end};
    if (a.window > 0) {
      const int64_t half = a.window / 2;
      if (position - half > 0) seen.first = position - half;
      if (position + half + 1 < seen.end) seen.end = position + half + 1;
    }
  } else if (a.window > 0 && position - a.window + 1 > seen.first) {
    seen.first = position - a.window + 1;
  }
  return seen;
}

// The values of one span.
size_t AttentionScratchBytes(const PageShape& shape, int32_t, int64_t) {
  return static_cast<size_t>(SpanStateFloats(shape.v_dim)) * sizeof(float);
}

void Attention(const AttentionArguments& a) {
  for (int64_t i = 0; i < a.queries; ++i) {
    for (int32_t head = 0; head < a.group; ++head) {
      const Query query = QueryOf(a, i, head);
      const KeyRange seen = SeenKeys(a, query.position);
      State merged{0, 0, OutOf(a, i, head)}, next{0, 0, static_cast<float*>(a.scratch)};
      for (int64_t span = seen.first / kSpanTokens; span * kSpanTokens < seen.end; ++span) {
        AttendSpan(query, span, next);
        Merge(next.maximum, next.sum, next.values, a.shape.v_dim, merged);
      }
      Divide(merged, a.shape.v_dim);
    }
  }
}

void AttentionSpan(const AttentionArguments& a, int64_t span, float* state) {
  for (int64_t i = 0; i < a.queries; ++i) {
    for (int32_t head = 0; head < a.group; ++head, state += SpanStateFloats(a.shape.v_dim)) {
      State own{0, 0, state + 16};
      AttendSpan(QueryOf(a, i, head), span, own);
      state[0] = own.maximum;
      state[1] = own.sum;
    }
  }
}

void MergeSpans(const AttentionArguments& a, int64_t spans, const float* states) {
  const int64_t stride = SpanStateFloats(a.shape.v_dim), of_span = a.queries * a.group * stride;
  for (int64_t i = 0; i < a.queries; ++i) {
    for (int32_t head = 0; head < a.group; ++head, states += stride) {
      State merged{0, 0, OutOf(a, i, head)};
      for (int64_t span = 0; span < spans; ++span) {
        const float* const state = states + span * of_span;
        Merge(state[0], state[1], state + 16, a.shape.v_dim, merged);
      }
      Divide(merged, a.shape.v_dim);
    }
  }
}

}  // namespace inferd::kernels::reference
