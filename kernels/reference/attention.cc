// Attention over pages with an online softmax (arXiv:2205.14135, algorithm 1, one page of keys at a time).
//
// For each query head, and each page in ascending order:
//   score[t] = scale * sum_d q[d] K[d][t]        d ascending by fma from +0, then soft cap and slope
//   m'       = max(m, scores of the page's seen keys)
//   weight[t] = exp(score[t] - m'), correction = exp(m - m')
//   l = l * correction + sum of the weights in 16 lanes;  o = o * correction, then fma(weight[t], V[t], o), t ascending
// and at the end o / l, as o * (1 / l). A sink starts m at its score and l at 1; without one they start at -infinity
// and 0.
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
  float* out;
  float maximum, sum;
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
void AddPage(Query& query, int64_t first, int64_t end) {
  const AttentionArguments& a = query.a;
  const HeadPage page(a, a.pages[first / kPageTokens]);
  float scores[kPageTokens];
  float maximum = query.maximum;
  for (int64_t key = first; key < end; ++key) {
    const float score = Score(query, page, key);
    scores[key % kPageTokens] = score;
    maximum = maximum < score ? score : maximum;
  }
  const float correction = Exp<Scalar>(query.maximum - maximum);
  LaneSum sum;
  for (int64_t key = first; key < end; ++key) {
    float& weight = scores[key % kPageTokens];
    weight = Exp<Scalar>(weight - maximum);
    sum.Add(key % kPageTokens, weight);
  }
  query.sum = std::fma(query.sum, correction, sum.Total());
  query.maximum = maximum;
  for (int64_t d = 0; d < a.shape.v_dim; ++d) {
    float out = query.out[d] * correction;
    for (int64_t key = first; key < end; ++key) {
      out = std::fma(scores[key % kPageTokens], page.V(key % kPageTokens, d), out);
    }
    query.out[d] = out;
  }
}

void AttendOne(Query query) {
  const AttentionArguments& a = query.a;
  const KeyRange seen = SeenKeys(a, query.position);
  for (int64_t d = 0; d < a.shape.v_dim; ++d) query.out[d] = 0.0f;
  for (int64_t first = seen.first; first < seen.end;) {
    const int64_t page_end = (first / kPageTokens + 1) * kPageTokens;
    const int64_t end = page_end < seen.end ? page_end : seen.end;
    AddPage(query, first, end);
    first = end;
  }
  const float factor = 1.0f / query.sum;
  for (int64_t d = 0; d < a.shape.v_dim; ++d) query.out[d] = query.out[d] * factor;
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

size_t AttentionScratchBytes(const PageShape&, int32_t, int64_t) { return 64; }

void Attention(const AttentionArguments& a) {
  for (int64_t i = 0; i < a.queries; ++i) {
    for (int32_t head = 0; head < a.group; ++head) {
      const bool sink = a.sinks != nullptr;
      AttendOne({.a = a,
                 .head = head,
                 .position = a.position + i,
                 .q = a.q + i * a.q_stride + static_cast<int64_t>(head) * a.shape.k_dim,
                 .out = a.out + i * a.out_stride + static_cast<int64_t>(head) * a.shape.v_dim,
                 .maximum = sink ? a.sinks[head] : -std::numeric_limits<float>::infinity(),
                 .sum = sink ? 1.0f : 0.0f});
    }
  }
}

}  // namespace inferd::kernels::reference
