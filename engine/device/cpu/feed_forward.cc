// The dense feed-forward network: gate and up projections with their activation in one job, then down into the stream.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/cpu_device.h"

namespace inferd::device {
namespace {

// Bounded gate and shifted up projection of gpt-oss ("clamped SwiGLU").
void ClampPair(float limit, int64_t n, float* gate, float* up) {
  for (int64_t i = 0; i < n; ++i) {
    gate[i] = std::min(gate[i], limit);
    up[i] = std::clamp(up[i], -limit, limit) + 1.0f;
  }
}

void LimitPair(float limit, int64_t n, float* gate, float* up) {
  for (int64_t i = 0; i < n; ++i) {
    gate[i] = std::min(gate[i], limit);
    up[i] = std::clamp(up[i], -limit, limit);
  }
}

float Xielu(const model::XieluSpec& p, float x) {
  if (x > 0) return p.positive * x * x + p.beta * x;
  // exp(y) - 1 near 0 by its series: what Exp leaves of the difference is rounding.
  const double y = std::min(x, p.epsilon);
  const double less = y > -1e-5 ? y + y * y / 2 : kernels::exact::Exp(y) - 1;
  return (static_cast<float>(less) - x) * p.negative + p.beta * x;
}

}  // namespace

void CpuDevice::FeedForward(int32_t layer) {
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  if (!spec_.parallel) PrepareFeedForwardInput(layer);
  if (f.experts.count > 0) {
    ExpertFeedForward(layer);
  } else {
    DenseFeedForward(layer);
  }
}

void CpuDevice::DenseFeedForward(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  if (f.sparsity > 0) return SparseFeedForward(layer);
  RunGatedPair(f, {&w.feed_forward.gate, &w.feed_forward.up, &feed_forward_input_, nullptr, rows_, inner_rows_, f.width,
                   f.limit});
  inner_.formats = Formats::Of({&w.feed_forward.down});
  inner_.k = f.width;
  const float* divisor = w.feed_forward.activation_divisor;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float* inner = inner_rows_ + row * f.width;
    for (int64_t i = 0; divisor != nullptr && i < f.width; ++i) inner[i] /= divisor[i];
    StoreRow(w.inside_feed_forward, inner, row, inner_, thread);
  });
  AddBranch(w.feed_forward.down, w.after_feed_forward, w.after_feed_forward_sum);
}

// Both products first, as the gate's cut-off depends on its whole row.
void CpuDevice::SparseFeedForward(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  const Product products[] = {{&w.feed_forward.gate, gate_, f.width}, {&w.feed_forward.up, inner_rows_, f.width}};
  products_.Multiply(feed_forward_input_, rows_, products);
  inner_.formats = Formats::Of({&w.feed_forward.down});
  inner_.k = f.width;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float *gate = gate_ + row * f.width, *up = inner_rows_ + row * f.width;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < f.width; ++i) sum += gate[i];
    const double mean = sum / static_cast<double>(f.width);
    for (int64_t i = 0; i < f.width; ++i) squares += (gate[i] - mean) * (gate[i] - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(std::max<int64_t>(f.width - 1, 1)));
    const auto cut = static_cast<float>(mean + deviation * static_cast<double>(f.sparsity));
    for (int64_t i = 0; i < f.width; ++i) gate[i] = std::max(0.0f, gate[i] - cut);
    k_.gate(f.activation, gate, up, f.width, up);
    StoreRow(w.inside_feed_forward, up, row, inner_, thread);
  });
  AddBranch(w.feed_forward.down, w.after_feed_forward, w.after_feed_forward_sum);
}

void CpuDevice::RunGatedPair(const model::FeedForwardSpec& spec, const GatedPair& pair) {
  const int64_t rows = pair.up->weights.rows, step = products_.RowsPerItem(rows, pair.tokens);
  pool_.Run((rows + step - 1) / step, [&](int64_t item, int32_t thread) {
    GateAndUp(spec, pair, item * step, std::min(rows, (item + 1) * step), thread);
  });
}

void CpuDevice::GateAndUp(const model::FeedForwardSpec& spec, const GatedPair& pair, int64_t begin, int64_t end,
                          int32_t thread) {
  const bool gated = static_cast<bool>(*pair.gate);
  const int64_t n = end - begin;
  float *gate = scratch_[thread].columns, *up = scratch_[thread].other_columns;
  if (gated) {
    products_.MultiplyColumns(*pair.input, pair.input_rows, pair.tokens, *pair.gate, begin, end, gate, thread,
                              Products::RowOf(*pair.up, begin));
  }
  products_.MultiplyColumns(*pair.input, pair.input_rows, pair.tokens, *pair.up, begin, end, up, thread,
                            products_.LikelyAfter(gated ? *pair.gate : *pair.up, begin, n));
  for (int64_t token = 0; token < pair.tokens; ++token, gate += n, up += n) {
    float* out = pair.out + token * pair.stride + begin;
    if (gated && spec.clamp > 0) ClampPair(spec.clamp, n, gate, up);
    if (spec.xielu) {
      for (int64_t i = 0; i < n; ++i) out[i] = Xielu(*spec.xielu, up[i]);
    } else if (!gated) {
      k_.activate(spec.activation, up, n, out);
    } else if (pair.limit > 0) {
      k_.activate(spec.activation, gate, n, gate);
      LimitPair(pair.limit, n, gate, up);
      k_.multiply(gate, up, n, out);
    } else {
      k_.gate(spec.activation, gate, up, n, out);
    }
  }
}

}  // namespace inferd::device
