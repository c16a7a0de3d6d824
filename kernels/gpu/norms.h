// Norms, one block for each row; kernels/reference/norms.cc defines them.
//
//   RmsNorm<<<rows, kNormThreads>>>({.x = x, .x_stride = n, .n = n, .weight = w, .epsilon = 1e-5f, .out = y,
//   .out_stride = n});
#pragma once

#include "kernels/gpu/arguments.h"
#include "kernels/gpu/row_sum.h"

namespace inferd::kernels::gpu {

constexpr int kNormThreads = 256;

GPU_KERNEL(kNormThreads, RmsNorm, NormArguments a) {
  const float* const x = a.x + BlockX() * a.x_stride;
  float* const out = a.out + BlockX() * a.out_stride;
  const int64_t offset = BlockX() % a.weight_rows * a.n;
  const float squares = SumInLanes(a.n, [=](int64_t i, float sum) { return MultiplyAdd(x[i], x[i], sum); });
  const float factor = Divide(1.0f, SquareRoot(Divide(squares, static_cast<float>(a.n)) + a.epsilon));
  for (int64_t i = Thread(); i < a.n; i += kNormThreads) {
    float y = Multiply(x[i], factor);
    if (a.weight != nullptr) y = Multiply(y, a.weight[offset + i]);
    if (a.bias != nullptr) y = y + a.bias[offset + i];
    out[i] = y;
  }
}

GPU_KERNEL(kNormThreads, LayerNorm, NormArguments a) {
  const float* const x = a.x + BlockX() * a.x_stride;
  float* const out = a.out + BlockX() * a.out_stride;
  const int64_t offset = BlockX() % a.weight_rows * a.n;
  const auto n = static_cast<float>(a.n);
  const float mean = Divide(SumInLanes(a.n, [=](int64_t i, float sum) { return sum + x[i]; }), n);
  const float squares =
      SumInLanes(a.n, [=](int64_t i, float sum) { return MultiplyAdd(x[i] - mean, x[i] - mean, sum); });
  const float factor = Divide(1.0f, SquareRoot(Divide(squares, n) + a.epsilon));
  for (int64_t i = Thread(); i < a.n; i += kNormThreads) {
    float y = Multiply(x[i] - mean, factor);
    if (a.weight != nullptr) y = Multiply(y, a.weight[offset + i]);
    if (a.bias != nullptr) y = y + a.bias[offset + i];
    out[i] = y;
  }
}

GPU_KERNEL(kNormThreads, L2Norm, NormArguments a) {
  const float* const x = a.x + BlockX() * a.x_stride;
  float* const out = a.out + BlockX() * a.out_stride;
  const float length = SquareRoot(SumInLanes(a.n, [=](int64_t i, float sum) { return MultiplyAdd(x[i], x[i], sum); }));
  const float factor = Divide(1.0f, length < a.epsilon ? a.epsilon : length);
  for (int64_t i = Thread(); i < a.n; i += kNormThreads) out[i] = Multiply(x[i], factor);
}

}  // namespace inferd::kernels::gpu
