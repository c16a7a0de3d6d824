// Rows of a table of weights as floats; kernels/reference/dequantize.cc defines their values.
//
//   EmbedRows<TypeQ4_K><<<{k / 256 rounded up, rows}, kElementThreads>>>(arguments);
#pragma once

#include "kernels/gpu/arguments.h"
#include "kernels/gpu/elementwise.h"
#include "kernels/gpu/float_product.h"
#include "kernels/gpu/lookup_types.h"

namespace inferd::kernels::gpu {

template <class Type>
GPU_DEVICE float ElementOf(const uint8_t* row, int64_t i) {
  const uint8_t* const b = row + i / Type::kElements * Type::kBytes;
  const int e = static_cast<int>(i % Type::kElements);
  const auto value = static_cast<float>(static_cast<int8_t>(Type::Word(b, e / 4) >> e % 4 * 8 & 0xFF));
  float scale = Type::Scale(b);
  if constexpr (kIsSuper<Type>) scale = Multiply(scale, static_cast<float>(Type::GroupScale(b, e / 16)));
  const float x = Multiply(scale, value);
  if constexpr (Type::kProduct == Product::kScale32Added) return x + Type::Added(b);
  if constexpr (Type::kProduct == Product::kSuperMinimum) {
    return x - Multiply(Type::Minimum(b), static_cast<float>(Type::GroupMinimum(b, e / 16)));
  }
  return x;
}

template <class Type>
GPU_KERNEL(kElementThreads, EmbedRows, EmbeddingArguments a) {
  const int64_t i = Element();
  if (i < a.k) a.out[BlockY() * a.k + i] = ElementOf<Type>(a.table + a.ids[BlockY()] * a.row_bytes, i);
}

template <class Type>
GPU_KERNEL(kElementThreads, EmbedFloatRows, EmbeddingArguments a) {
  const int64_t i = Element();
  if (i < a.k) a.out[BlockY() * a.k + i] = Type::Element(a.table + a.ids[BlockY()] * a.row_bytes, i);
}

}  // namespace inferd::kernels::gpu
