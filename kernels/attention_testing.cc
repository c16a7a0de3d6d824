// See attention_testing.h.
#include "kernels/attention_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace inferd::kernels {
namespace {

constexpr size_t RoundUp64(size_t bytes) { return (bytes + 63) / 64 * 64; }

double DoubleFromHalf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double fraction = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

template <class T>
T Read(const unsigned char* at, int64_t index) {
  T value;
  std::memcpy(&value, at + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Byte offsets of the parts of a page, from the layout that sequence_arguments.h documents.
struct Parts {
  size_t v, k_scales, v_scales;
};
Parts PartsOf(const PageShape& s) {
  const size_t bytes = s.type == CacheType::kF32 ? 4 : s.type == CacheType::kF16 ? 2 : 1;
  Parts parts;
  parts.v = RoundUp64(bytes * s.kv_heads * s.k_dim * 64);
  parts.k_scales = parts.v + RoundUp64(bytes * s.kv_heads * s.v_dim * 64);
  parts.v_scales = parts.k_scales + (s.type == CacheType::kQ8_0 ? RoundUp64(2u * s.kv_heads * (s.k_dim / 32) * 64) : 0);
  return parts;
}

}  // namespace

std::string AttentionCase::Name() const {
  const char* type = shape.type == CacheType::kF32 ? "f32" : shape.type == CacheType::kF16 ? "f16" : "q8";
  std::string name = std::string(type) + "_h" + std::to_string(shape.kv_heads) + "_k" + std::to_string(shape.k_dim) +
                     "_v" + std::to_string(shape.v_dim) + "_g" + std::to_string(group) + "_n" +
                     std::to_string(queries) + "_p" + std::to_string(position);
  if (first_key > 0) name += "_first" + std::to_string(first_key);
  if (window > 0) name += "_window" + std::to_string(window);
  if (bidirectional_end > 0) name += "_end" + std::to_string(bidirectional_end);
  if (soft_cap > 0) name += "_cap";
  if (alibi) name += "_alibi";
  if (sinks) name += "_sinks";
  if (magnitude != 1.0f) name += "_scaled";
  return name;
}

AttentionProblem::AttentionProblem(const AttentionCase& c)
    : case_(c),
      kv_head_(c.shape.kv_heads - 1),
      keys_(std::max(c.position + c.queries, c.bidirectional_end)),
      scale_(1.0f / std::sqrt(static_cast<float>(c.shape.k_dim))),
      q_(Random(1, static_cast<size_t>(c.queries * c.group * c.shape.k_dim), c.magnitude)),
      slopes_(Random(2, static_cast<size_t>(c.group), 0.1f)),
      sinks_(Random(3, static_cast<size_t>(c.group))) {
  const Kernels& reference = *SelectKernels("reference");
  const int64_t k_row = static_cast<int64_t>(c.shape.kv_heads) * c.shape.k_dim;
  const int64_t v_row = static_cast<int64_t>(c.shape.kv_heads) * c.shape.v_dim;
  const std::vector<float> k = Random(4, static_cast<size_t>(keys_ * k_row), c.magnitude);
  const std::vector<float> v = Random(5, static_cast<size_t>(keys_ * v_row), c.magnitude);
  for (int64_t first = 0; first < keys_; first += kPageTokens) {
    const size_t bytes = reference.page_bytes(c.shape);
    AlignedBytes& page = pages_.emplace_back(bytes);
    std::memset(page.data(), 0xFF, bytes);  // slots without a token hold NaN
    reference.write_kv(c.shape, page.data(), 0, static_cast<int32_t>(std::min<int64_t>(kPageTokens, keys_ - first)),
                       k.data() + first * k_row, k_row, v.data() + first * v_row, v_row);
  }
}

std::vector<float> AttentionProblem::RunPart(const Kernels& kernels, int64_t first, int64_t count) {
  return RunWith(kernels, first, count, [&](const AttentionArguments& a) { kernels.attention(a); });
}

std::vector<float> AttentionProblem::RunSpans(const Kernels& kernels) {
  const int64_t spans = (keys_ + kSpanTokens - 1) / kSpanTokens;
  const int64_t floats = case_.queries * case_.group * SpanStateFloats(case_.shape.v_dim);
  const size_t bytes = static_cast<size_t>(spans * floats) * sizeof(float);
  AlignedBytes states(bytes);
  std::memset(states.data(), 0xFF, bytes);
  float* const begin = reinterpret_cast<float*>(states.data());
  return RunWith(kernels, 0, case_.queries, [&](const AttentionArguments& a) {
    for (int64_t span = spans - 1; span >= 0; --span) kernels.attention_span(a, span, begin + span * floats);
    kernels.merge_spans(a, spans, begin);
  });
}

template <typename Attend>
std::vector<float> AttentionProblem::RunWith(const Kernels& kernels, int64_t first, int64_t count, Attend attend) {
  const AttentionCase& c = case_;
  std::vector<const void*> pages;
  for (AlignedBytes& page : pages_) pages.push_back(page.data());
  // Pages that no query sees need not exist.
  int64_t seen = c.bidirectional_end > 0 ? 0 : c.first_key;
  if (c.window > 0 && c.bidirectional_end == 0) seen = std::max(seen, c.position + first - c.window + 1);
  for (int64_t i = 0; i < std::max<int64_t>(seen, 0) / kPageTokens; ++i) pages[static_cast<size_t>(i)] = nullptr;

  const int64_t q_stride = static_cast<int64_t>(c.group) * c.shape.k_dim;
  const int64_t out_stride = static_cast<int64_t>(c.group) * c.shape.v_dim + 3;  // gaps must stay as they are
  const size_t scratch_bytes = kernels.attention_scratch_bytes(c.shape, c.group, count);
  AlignedBytes scratch(scratch_bytes);
  std::memset(scratch.data(), 0xFF, scratch_bytes);
  constexpr float kGap = 12345.0f;
  std::vector<float> out(static_cast<size_t>(count * out_stride), kGap);
  attend(AttentionArguments{.shape = c.shape,
                            .pages = pages.data(),
                            .kv_head = kv_head_,
                            .group = c.group,
                            .queries = count,
                            .position = c.position + first,
                            .first_key = c.first_key,
                            .window = c.window,
                            .bidirectional_end = c.bidirectional_end,
                            .q = q_.data() + first * q_stride,
                            .q_stride = q_stride,
                            .out = out.data(),
                            .out_stride = out_stride,
                            .scale = scale_,
                            .soft_cap = c.soft_cap,
                            .alibi_slopes = c.alibi ? slopes_.data() : nullptr,
                            .sinks = c.sinks ? sinks_.data() : nullptr,
                            .scratch = scratch.data()});
  std::vector<float> packed;
  for (int64_t i = 0; i < count; ++i) {
    const auto row = out.begin() + i * out_stride;
    packed.insert(packed.end(), row, row + out_stride - 3);
    for (int gap = 1; gap <= 3; ++gap) EXPECT_EQ(row[out_stride - gap], kGap) << "written behind a row";
  }
  return packed;
}

double AttentionProblem::Stored(const unsigned char* page, size_t part, size_t scales, int64_t index,
                                int64_t scale_index) const {
  switch (case_.shape.type) {
    case CacheType::kF32:
      return Read<float>(page + part, index);
    case CacheType::kF16:
      return DoubleFromHalf(Read<uint16_t>(page + part, index));
    case CacheType::kQ8_0:
      return DoubleFromHalf(Read<uint16_t>(page + scales, scale_index)) * Read<int8_t>(page + part, index);
  }
  return 0;
}

double AttentionProblem::K(int64_t key, int32_t d) const {
  const AlignedBytes& page = pages_[static_cast<size_t>(key / 64)];
  const PageShape& s = case_.shape;
  const int64_t index = (static_cast<int64_t>(kv_head_) * s.k_dim + d) * 64 + key % 64;
  const int64_t scale_index = (static_cast<int64_t>(kv_head_) * (s.k_dim / 32) + d / 32) * 64 + key % 64;
  return Stored(static_cast<const unsigned char*>(page.data()), 0, PartsOf(s).k_scales, index, scale_index);
}

double AttentionProblem::V(int64_t key, int32_t d) const {
  const AlignedBytes& page = pages_[static_cast<size_t>(key / 64)];
  const PageShape& s = case_.shape;
  const int64_t index = (static_cast<int64_t>(kv_head_) * 64 + key % 64) * s.v_dim + d;
  const int64_t scale_index = (static_cast<int64_t>(kv_head_) * (s.v_dim / 32) + d / 32) * 64 + key % 64;
  return Stored(static_cast<const unsigned char*>(page.data()), PartsOf(s).v, PartsOf(s).v_scales, index, scale_index);
}

bool AttentionProblem::Sees(int64_t position, int64_t key) const {
  const AttentionCase& c = case_;
  if (c.bidirectional_end > 0) {
    return key < c.bidirectional_end && (c.window == 0 || std::abs(key - position) <= c.window / 2);
  }
  return key <= position && key >= c.first_key && (c.window == 0 || position - key < c.window);
}

std::vector<double> AttentionProblem::ExpectedRow(int64_t query, int32_t head) const {
  const AttentionCase& c = case_;
  const int64_t position = c.position + query;
  const float* q = q_.data() + (query * c.group + head) * c.shape.k_dim;
  std::vector<double> scores(static_cast<size_t>(keys_), -std::numeric_limits<double>::infinity());
  double maximum = c.sinks ? sinks_[static_cast<size_t>(head)] : -std::numeric_limits<double>::infinity();
  for (int64_t key = 0; key < keys_; ++key) {
    if (!Sees(position, key)) continue;
    double score = 0;
    for (int32_t d = 0; d < c.shape.k_dim; ++d) score += q[d] * K(key, d);
    score *= scale_;
    if (c.soft_cap > 0) score = c.soft_cap * std::tanh(score / c.soft_cap);
    if (c.alibi) score += slopes_[static_cast<size_t>(head)] * -static_cast<double>(std::abs(key - position));
    scores[static_cast<size_t>(key)] = score;
    maximum = std::max(maximum, score);
  }
  double sum = c.sinks ? std::exp(sinks_[static_cast<size_t>(head)] - maximum) : 0;
  std::vector<double> out(static_cast<size_t>(c.shape.v_dim));
  for (int64_t key = 0; key < keys_; ++key) {
    if (!Sees(position, key)) continue;
    const double weight = std::exp(scores[static_cast<size_t>(key)] - maximum);
    sum += weight;
    for (int32_t d = 0; d < c.shape.v_dim; ++d) out[static_cast<size_t>(d)] += weight * V(key, d);
  }
  for (double& value : out) value /= sum;
  return out;
}

std::vector<double> AttentionProblem::Expected() const {
  std::vector<double> out;
  for (int64_t query = 0; query < case_.queries; ++query) {
    for (int32_t head = 0; head < case_.group; ++head) {
      const std::vector<double> row = ExpectedRow(query, head);
      out.insert(out.end(), row.begin(), row.end());
    }
  }
  return out;
}

}  // namespace inferd::kernels
