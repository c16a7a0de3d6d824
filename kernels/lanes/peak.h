// How fast an instruction set can multiply at best: independent chains on registers alone.
//
//   struct Int8 {
//     using Vector = __m512i;
//     static constexpr int kChains = 12, kOperations = 128;           // of one step of one chain
//     static Vector Zero();
//     Vector Next(Vector sum) const;                                  // the fastest product, added to the sum
//     static void Keep(Vector& sum);                                  // hides the value from the compiler
//     static Vector Add(Vector a, Vector b);
//     static float First(Vector sum);
//   };
//   int64_t operations = PeakOf(Int8(), rounds, sink);                // as Kernels::int8_peak
#pragma once

#include <cstdint>

namespace inferd::kernels::lanes {

// As many chains as hide the latency of as many instructions as the processor begins in a cycle. The sums are kept by
// name, one function call each: an array of them would go through memory.
template <class Product, int kLeft, class... Sums>
static inline __attribute__((always_inline)) float RunChains(const Product& product, int64_t rounds, Sums... sums) {
  if constexpr (kLeft > 0) {
    return RunChains<Product, kLeft - 1>(product, rounds, sums..., Product::Zero());
  } else {
    for (int64_t i = 0; i < rounds; ++i) ((sums = product.Next(sums), Product::Keep(sums)), ...);
    auto total = Product::Zero();
    ((total = Product::Add(total, sums)), ...);
    return Product::First(total);
  }
}

template <class Product>
static inline __attribute__((always_inline)) int64_t PeakOf(const Product& product, int64_t rounds, float* sink) {
  *sink += RunChains<Product, Product::kChains>(product, rounds);
  return rounds * Product::kChains * Product::kOperations;
}

}  // namespace inferd::kernels::lanes
