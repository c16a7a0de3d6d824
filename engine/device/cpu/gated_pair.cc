#include "engine/device/cpu/gated_pair.h"

#include <algorithm>

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

void RunGatedPair(Processor& processor, const model::FeedForwardSpec& spec, const GatedPair& pair) {
  const int64_t rows = pair.up->weights.rows, step = processor.products().RowsPerItem(rows, pair.tokens);
  processor.pool().Run((rows + step - 1) / step, [&](int64_t item, int32_t thread) {
    MultiplyGatedPair(processor, spec, pair, item * step, std::min(rows, (item + 1) * step), thread);
  });
}

void MultiplyGatedPair(const Processor& processor, const model::FeedForwardSpec& spec, const GatedPair& pair,
                       int64_t begin, int64_t end, int32_t thread) {
  const Products& products = processor.products();
  const kernels::Kernels& k = processor.kernels();
  const bool gated = static_cast<bool>(*pair.gate);
  const int64_t n = end - begin;
  float *gate = processor.scratch(thread).columns, *up = processor.scratch(thread).other_columns;
  if (gated) {
    products.MultiplyColumns(*pair.input, pair.input_rows, pair.tokens, *pair.gate, begin, end, gate, thread,
                             Products::RowOf(*pair.up, begin));
  }
  products.MultiplyColumns(*pair.input, pair.input_rows, pair.tokens, *pair.up, begin, end, up, thread,
                           products.LikelyAfter(gated ? *pair.gate : *pair.up, begin, n));
  for (int64_t token = 0; token < pair.tokens; ++token, gate += n, up += n) {
    float* out = pair.out + token * pair.stride + begin;
    if (gated && spec.clamp > 0) ClampPair(spec.clamp, n, gate, up);
    if (spec.xielu) {
      for (int64_t i = 0; i < n; ++i) out[i] = Xielu(*spec.xielu, up[i]);
    } else if (!gated) {
      k.activate(spec.activation, up, n, out);
    } else if (pair.limit > 0) {
      k.activate(spec.activation, gate, n, gate);
      LimitPair(pair.limit, n, gate, up);
      k.multiply(gate, up, n, out);
    } else {
      k.gate(spec.activation, gate, up, n, out);
    }
  }
}

}  // namespace inferd::device
