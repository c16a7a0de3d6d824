// Activations, gates and sums: element i of n in a thread of its own; kernels/reference/elementwise.cc defines them.
//
//   Gate<<<ElementBlocks(n), kElementThreads>>>(Activation::kSilu, gate, up, n, out);
#pragma once

#include "kernels/gpu/arguments.h"
#include "kernels/gpu/lane_ops.h"

namespace inferd::kernels::gpu {

constexpr int kElementThreads = 256;

constexpr uint32_t ElementBlocks(int64_t n) {
  return static_cast<uint32_t>((n + kElementThreads - 1) / kElementThreads);
}

GPU_DEVICE int64_t Element() { return static_cast<int64_t>(BlockX()) * kElementThreads + Thread(); }

GPU_DEVICE float ActivateOne(Activation kind, float x) {
  switch (kind) {
    case Activation::kSilu:
      return kernels::Activate<LaneOps, Activation::kSilu>(x);
    case Activation::kGeluTanh:
      return kernels::Activate<LaneOps, Activation::kGeluTanh>(x);
    case Activation::kGeluHalf:
      return kernels::Activate<LaneOps, Activation::kGeluHalf>(x);
    case Activation::kGeluErf:
      return kernels::Activate<LaneOps, Activation::kGeluErf>(x);
    case Activation::kRelu:
      return kernels::Activate<LaneOps, Activation::kRelu>(x);
    case Activation::kReluSquared:
      return kernels::Activate<LaneOps, Activation::kReluSquared>(x);
    case Activation::kSigmoid:
      return kernels::Activate<LaneOps, Activation::kSigmoid>(x);
    case Activation::kTanh:
      return kernels::Activate<LaneOps, Activation::kTanh>(x);
    case Activation::kGeluQuick:
      return kernels::Activate<LaneOps, Activation::kGeluQuick>(x);
    case Activation::kSoftplus:
      return kernels::Activate<LaneOps, Activation::kSoftplus>(x);
    case Activation::kExp:
      return kernels::Activate<LaneOps, Activation::kExp>(x);
  }
  return x;
}

GPU_KERNEL(kElementThreads, Activate, Activation kind, const float* x, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = ActivateOne(kind, x[i]);
}

GPU_KERNEL(kElementThreads, Gate, Activation kind, const float* gate, const float* up, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = Multiply(ActivateOne(kind, gate[i]), up[i]);
}

GPU_KERNEL(kElementThreads, Add, const float* a, const float* b, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = a[i] + b[i];
}

// Each row of n elements of x gets the same b: a bias.
GPU_KERNEL(kElementThreads, AddToRows, const float* b, int64_t width, int64_t n, float* x) {
  if (const int64_t i = Element(); i < n) x[i] = x[i] + b[i % width];
}

GPU_KERNEL(kElementThreads, MultiplyElements, const float* a, const float* b, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = Multiply(a[i], b[i]);
}

GPU_KERNEL(kElementThreads, Scale, const float* x, float factor, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = Multiply(x[i], factor);
}

GPU_KERNEL(kElementThreads, AddScaled, const float* x, float factor, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = MultiplyAdd(x[i], factor, out[i]);
}

GPU_KERNEL(kElementThreads, SoftCap, const float* x, float cap, int64_t n, float* out) {
  if (const int64_t i = Element(); i < n) out[i] = Multiply(cap, Tanh<LaneOps>(Divide(x[i], cap)));
}

GPU_DEVICE float AtMost(float x, float limit) { return limit < x ? limit : x; }
GPU_DEVICE float Clamped(float x, float limit) { return x < -limit ? -limit : AtMost(x, limit); }

GPU_KERNEL(kElementThreads, Clamp, float limit, int64_t n, float* x) {
  if (const int64_t i = Element(); i < n) x[i] = Clamped(x[i], limit);
}

// Bounds a gate from above and what it gates to both sides, to which `added` comes.
GPU_KERNEL(kElementThreads, ClampPair, float limit, float added, int64_t n, float* gate, float* up) {
  if (const int64_t i = Element(); i < n) {
    gate[i] = AtMost(gate[i], limit);
    up[i] = added == 0.0f ? Clamped(up[i], limit) : Clamped(up[i], limit) + added;
  }
}

// Each row of n elements of x is divided by the same b.
GPU_KERNEL(kElementThreads, DivideRows, const float* b, int64_t width, int64_t n, float* x) {
  if (const int64_t i = Element(); i < n) x[i] = Divide(x[i], b[i % width]);
}

// Rows of x by number, one after the other; a block for each.
GPU_KERNEL(kElementThreads, GatherRows, const float* x, const int32_t* rows, int64_t width, float* out) {
  const float* const from = x + rows[BlockX()] * width;
  for (int64_t i = Thread(); i < width; i += kElementThreads) out[BlockX() * width + i] = from[i];
}

// Each head times its factor, a block for each row: factors lie row_factors and head_factors floats apart.
GPU_KERNEL(kElementThreads, ScaleHeads, HeadArguments a, const float* factors, int64_t row_factors,
           int64_t head_factors) {
  for (int64_t i = Thread(); i < a.heads * a.n; i += kElementThreads) {
    const int64_t head = i / a.n;
    float* const x = a.x + BlockX() * a.row_stride + head * a.head_stride + i % a.n;
    *x = Multiply(*x, factors[BlockX() * row_factors + head * head_factors]);
  }
}

// Each head times the activation of its gate, a block for each row: gates lie row_gates and head_gates floats apart.
GPU_KERNEL(kElementThreads, GateHeads, Activation kind, HeadArguments a, const float* gates, int64_t row_gates,
           int64_t head_gates) {
  for (int64_t i = Thread(); i < a.heads * a.n; i += kElementThreads) {
    const int64_t head = i / a.n, at = i % a.n;
    float* const x = a.x + BlockX() * a.row_stride + head * a.head_stride + at;
    *x = Multiply(ActivateOne(kind, gates[BlockX() * row_gates + head * head_gates + at]), *x);
  }
}

// Rotary position embedding of the heads of a row, heads head_stride and rows row_stride floats apart; a block for each
// row. tables [rows][2][rotated / 2], as Kernels::rope_table makes them.
GPU_KERNEL(kElementThreads, Rope, float* heads, int64_t row_stride, int64_t head_count, int64_t head_stride,
           int64_t rotated, RopePairing pairing, const float* tables) {
  const int64_t pairs = rotated / 2;
  const int64_t step = pairing == RopePairing::kNeighbours ? 2 : 1;
  const int64_t distance = pairing == RopePairing::kNeighbours ? 1 : pairs;
  const float* const table = tables + BlockX() * rotated;
  for (int64_t i = Thread(); i < head_count * pairs; i += kElementThreads) {
    const int64_t pair = i % pairs;
    float* const first = heads + BlockX() * row_stride + i / pairs * head_stride + pair * step;
    float* const second = first + distance;
    const float cosine = table[pair], sine = table[pairs + pair], x = *first, y = *second;
    *first = MultiplyAdd(x, cosine, -Multiply(y, sine));
    *second = MultiplyAdd(y, cosine, Multiply(x, sine));
  }
}

}  // namespace inferd::kernels::gpu
