// Products with float weights: 16 chains an output, which is the order that reference/matmul.cc gives it. A half warp
// for each output.
//
//   MultiplyFloats<TypeF16><<<{rows / kFloatRows rounded up, tokens}, kProductThreads>>>(arguments);
#pragma once

#include "kernels/gpu/product_links.h"

namespace inferd::kernels::gpu {

constexpr int kFloatRows = kProductThreads / 16;

struct TypeF32 {
  static constexpr TensorType kType = TensorType::kF32;
  static GPU_DEVICE float Element(const uint8_t* row, int64_t i) { return FloatOfBits(Load32(row + 4 * i)); }
};
struct TypeF16 {
  static constexpr TensorType kType = TensorType::kF16;
  static GPU_DEVICE float Element(const uint8_t* row, int64_t i) { return LoadHalf(row + 2 * i); }
};
struct TypeBF16 {
  static constexpr TensorType kType = TensorType::kBF16;
  static GPU_DEVICE float Element(const uint8_t* row, int64_t i) { return FloatOfBits(Load16(row + 2 * i) << 16); }
};

// Grid {rows / kFloatRows rounded up, tokens}; a.blocks: elements of a row.
template <class Type>
GPU_KERNEL(kProductThreads, MultiplyFloats, ProductArguments a) {
  const int lane = Lane() % 16, row = BlockX() * kFloatRows + Thread() / 16;
  const uint8_t* const w = a.weights + (row < a.rows ? row : a.rows - 1) * a.row_bytes;
  const auto* const x = reinterpret_cast<const float*>(a.activations + BlockY() * a.activation_row_bytes);
  float sum = 0.0f;
  for (int64_t i = lane; i < a.blocks; i += 16) sum = MultiplyAdd(Type::Element(w, i), x[i], sum);
  sum = sum + 0.0f;
  for (int half = 8; half >= 1; half /= 2)
    sum = sum + ShuffleXor(sum, half);  // both addends' lanes agree: a + b = b + a
  if (lane == 0 && row < a.rows) a.out[BlockY() * a.out_stride + row] = sum;
}

}  // namespace inferd::kernels::gpu
