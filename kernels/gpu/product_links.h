// What all products y = W x share: their arguments, and what a block of quantized weights adds to an output.
// reference/matmul.cc defines them.
//
//   Link links[kLinks<TypeQ4_K>];
//   MakeLinks<TypeQ4_K>(weights, activations, dot, links);
//   for (const Link& link : links) sum = MultiplyAdd(link.factor, link.term, sum);
//
// Sums within a block are exact integers, made in any order; the one chain of floats of an output has an order, and
// runs in one thread with other outputs beside it.
#pragma once

#include "kernels/activations.h"
#include "kernels/gpu/arguments.h"
#include "kernels/gpu/weight_types.h"

namespace inferd::kernels::gpu {

constexpr int kProductThreads = 256;

template <class Type>
constexpr bool kIsSuper = Type::kProduct == Product::kSuper || Type::kProduct == Product::kSuperMinimum;

template <bool kSuper>
struct ActivationOf;
template <>
struct ActivationOf<false> {
  using Block = ActivationBlock32;
};
template <>
struct ActivationOf<true> {
  using Block = ActivationBlock256;
};

// A link of the chain: sum = fma(factor, term, sum).
struct Link {
  float factor, term;
};

// How often a block of weights continues an output's chain.
template <class Type>
constexpr int kLinks = Type::kProduct == Product::kScale32Added ? 2 : 1;

// What a block of weights `w` and one of activations `y` with the exact integer `dot` add to the chain.
template <class Type>
GPU_DEVICE void MakeLinks(const uint8_t* w, const ActivationBlock32& y, int dot, Link (&links)[kLinks<Type>]) {
  links[0] = {Type::Scale(w), Multiply(static_cast<float>(dot), y.scale)};
  if constexpr (Type::kProduct == Product::kScale32Added) links[1] = {Type::Added(w), y.scaled_sum};
}

template <class Type>
GPU_DEVICE void MakeLinks(const uint8_t* w, const ActivationBlock256& y, int dot, Link (&links)[kLinks<Type>]) {
  float value;
  if constexpr (Type::kProduct == Product::kSuperMinimum) {
    int low = 0;
    GPU_UNROLL
    for (int j = 0; j < 16; ++j) low += Type::GroupMinimum(w, j) * y.sums16[j];
    const float minimum = Type::Minimum(w);
    const float less = MultiplyAdd(minimum, kShiftedZero + static_cast<float>(low), -Multiply(minimum, kShiftedZero));
    value = MultiplyAdd(Type::Scale(w), static_cast<float>(dot), -less);
  } else {
    value = Multiply(Type::Scale(w), static_cast<float>(dot));
  }
  links[0] = {y.scale, value};
}

GPU_DEVICE uint32_t QuantWord(const int8_t* quants, int word) {
  return reinterpret_cast<const uint32_t*>(quants)[word];
}

}  // namespace inferd::kernels::gpu
