// Attention over pages, in spans of 512 keys that are merged; kernels/reference/attention.cc defines it.
//
//   AttendSpans<<<{heads, rows, most spans of a row}, kAttentionThreads>>>(arguments);
//   MergeSpans<<<{heads, rows}, kAttentionThreads>>>(arguments);
#pragma once

#include <cmath>

#include "kernels/gpu/arguments.h"
#include "kernels/gpu/lane_ops.h"
#include "kernels/gpu/page_write.h"
#include "kernels/gpu/row_sum.h"

namespace inferd::kernels::gpu {

constexpr int kAttentionThreads = 128;
constexpr int kMostHeadDimensions = 1024;

GPU_DEVICE int64_t StateFloats(int64_t v_dim) { return 16 + (v_dim + 15) / 16 * 16; }

GPU_DEVICE float* StateOf(const SpanArguments& a, int span) {
  return a.states +
         ((static_cast<int64_t>(BlockY()) * a.spans + span) * a.heads + BlockX()) * StateFloats(a.layout.v_dim);
}

// Element `index` of a head's part; its dimension d and token t find the scale of q8_0.
GPU_DEVICE float PageValue(CacheType type, const uint8_t* data, const uint8_t* scales, int64_t index, int d, int t) {
  if (type == CacheType::kF32) return reinterpret_cast<const float*>(data)[index];
  if (type == CacheType::kF16) return HalfToFloat(reinterpret_cast<const uint16_t*>(data)[index]);
  const uint16_t scale = reinterpret_cast<const uint16_t*>(scales)[d / kScaleDimensions * kPageTokens + t];
  return Multiply(HalfToFloat(scale), static_cast<float>(reinterpret_cast<const int8_t*>(data)[index]));
}

// The score of the key in slot t of a page whose part of K for the head is at `k`.
GPU_DEVICE float ScoreOf(const SpanArguments& a, const float* query, const uint8_t* k, const uint8_t* scales, int t,
                         int distance) {
  float score = 0.0f;
  for (int d = 0; d < a.layout.k_dim; ++d) {
    score = MultiplyAdd(query[d], PageValue(a.layout.type, k, scales, d * kPageTokens + t, d, t), score);
  }
  score = Multiply(score, a.scale);
  if (a.soft_cap != 0.0f) score = Multiply(a.soft_cap, Tanh<LaneOps>(Divide(score, a.soft_cap)));
  if (a.alibi_slopes == nullptr) return score;
  return MultiplyAdd(a.alibi_slopes[BlockX()], -static_cast<float>(distance < 0 ? -distance : distance), score);
}

// One query head and one span: scores of a page's keys in 64 threads, then the dimensions of its values in all.
GPU_KERNEL(kAttentionThreads, AttendSpans, SpanArguments a) {
  GPU_SHARED(float, query, [kMostHeadDimensions]);
  GPU_SHARED(float, values, [kMostHeadDimensions]);
  GPU_SHARED(float, weights, [kPageTokens]);
  const PageLayout& l = a.layout;
  const int head = BlockX(), row = BlockY(), t = Thread(), kv_head = head / a.group;
  const SeenRange seen = a.seen[row];
  const int first_span = seen.first / kSpanTokens, span_begin = (first_span + BlockZ()) * kSpanTokens;
  float* const state = StateOf(a, BlockZ());
  const int last = seen.end < span_begin + kSpanTokens ? seen.end : span_begin + kSpanTokens;
  int first = seen.first > span_begin ? seen.first : span_begin;
  if (first >= last) {
    if (t == 0) state[1] = 0.0f;
    return;
  }
  for (int d = t; d < l.k_dim; d += kAttentionThreads) query[d] = a.q[row * a.q_stride + head * a.head_stride + d];
  for (int d = t; d < l.v_dim; d += kAttentionThreads) values[d] = 0.0f;
  SyncThreads();
  const bool sink = a.sinks != nullptr && BlockZ() == 0;
  float maximum = sink ? a.sinks[head] : -INFINITY, sum = sink ? 1.0f : 0.0f;
  while (first < last) {
    const int page_begin = first / kPageTokens * kPageTokens;
    const int end = last < page_begin + kPageTokens ? last : page_begin + kPageTokens;
    const uint8_t* const page = a.pages[a.first_page[row] + first / kPageTokens];
    const uint8_t* const k = page + kv_head * l.k_head;
    const uint8_t* const v = page + l.v + kv_head * l.v_head;
    const uint8_t* const k_scales = page + l.k_scales + kv_head * l.k_scales_head;
    const uint8_t* const v_scales = page + l.v_scales + kv_head * l.v_scales_head;
    const int key = page_begin + t;
    const bool sees = t < kPageTokens && key >= first && key < end;
    const float score = sees ? ScoreOf(a, query, k, k_scales, t, key - a.positions[row]) : -INFINITY;
    const float largest = LargestOf<kAttentionThreads>(kAttentionThreads, [=](int64_t) { return score; });
    const float next = maximum < largest ? largest : maximum;
    const float correction = Exp<LaneOps>(maximum - next);
    if (t < kPageTokens) weights[t] = sees ? Exp<LaneOps>(score - next) : 0.0f;
    SyncThreads();
    sum = MultiplyAdd(sum, correction, SumInLanes(kPageTokens, [&](int64_t i, float s) { return s + weights[i]; }));
    maximum = next;
    for (int d = t; d < l.v_dim; d += kAttentionThreads) {
      float o = Multiply(values[d], correction);
      for (int i = first - page_begin; i < end - page_begin; ++i) {
        o = MultiplyAdd(weights[i], PageValue(l.type, v, v_scales, static_cast<int64_t>(i) * l.v_dim + d, d, i), o);
      }
      values[d] = o;
    }
    first = end;  // the weights are read by now when the next page's are written: LargestOf lies in between
  }
  for (int d = t; d < l.v_dim; d += kAttentionThreads) state[16 + d] = values[d];
  if (t != 0) return;
  state[0] = maximum;
  state[1] = sum;
}

// Adds the spans of a row in ascending order, and divides.
GPU_KERNEL(kAttentionThreads, MergeSpans, SpanArguments a) {
  const int head = BlockX(), row = BlockY();
  const SeenRange seen = a.seen[row];
  const int spans = (seen.end - 1) / kSpanTokens - seen.first / kSpanTokens + 1;
  for (int d = Thread(); d < a.layout.v_dim; d += kAttentionThreads) {
    float maximum = 0.0f, sum = 0.0f, value = 0.0f;
    for (int span = 0; span < spans; ++span) {
      const float* const state = StateOf(a, span);
      if (state[1] == 0.0f) continue;
      if (sum == 0.0f) {
        maximum = state[0];
        sum = state[1];
        value = state[16 + d];
        continue;
      }
      const float largest = maximum < state[0] ? state[0] : maximum;
      const float before = Exp<LaneOps>(maximum - largest), after = Exp<LaneOps>(state[0] - largest);
      maximum = largest;
      sum = MultiplyAdd(sum, before, Multiply(state[1], after));
      value = MultiplyAdd(value, before, Multiply(state[16 + d], after));
    }
    a.out[row * a.out_stride + static_cast<int64_t>(head) * a.layout.v_dim + d] = Multiply(value, Divide(1.0f, sum));
  }
}

}  // namespace inferd::kernels::gpu
