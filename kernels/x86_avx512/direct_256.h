// The product of 16 rows with one token for types with blocks of 256, whose values come eight registers at a time.
#pragma once

#include <immintrin.h>

#include "kernels/x86_avx512/tile_parts.h"

namespace inferd::kernels::avx512 {

// total += scales times the products of elements 4 * first .. 4 * first + 31 of the block
template <int kGroup, bool kSigned>
static INFERD_INLINE __m512i AddGroups(__m512i total, int first, const __m512i (&values)[8], const PanelBlock256& block,
                                       const ActivationBlock256& y) {
  constexpr int kDwords = kGroup / 4;
#pragma GCC unroll 2
  for (int begin = 0; begin < 8; begin += kDwords) {
    const int group = (first + begin) / kDwords;
    __m512i dot = kSigned ? _mm512_set1_epi32(y.offsets[group]) : _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int c = begin; c < begin + kDwords; ++c) {
      dot = _mm512_dpbusd_epi32(dot, values[c], BroadcastDword(y.quants + 4 * (first + c)));
    }
    total = _mm512_add_epi32(total, _mm512_mullo_epi32(dot, _mm512_load_si512(block.scales[group])));
  }
  return total;
}

// Type::LoadScales fills all of a block but its values; Type::ForEach32 calls f(first, values) with values of elements
// 4 * first .. 4 * first + 31, in any order, and returns what follows `next`. Both take rows at a block.
template <typename Type>
static INFERD_INLINE void Direct256(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  PanelBlock256 block;  // but for its values
  TileArguments arguments = a;
  arguments.panels[0] = &block;
  Tile<PanelBlock256, ActivationBlock256, 1, 1> tile(arguments);
  for (int64_t b = 0; b < a.blocks; ++b, rows += Type::kBytes) {
    Type::LoadScales(rows, stride, block);
    __m512i total = _mm512_setzero_si512();
    next = Type::ForEach32(
        rows, stride, next, [&](int first, const __m512i(&values)[8]) __attribute__((always_inline)) {
          total = AddGroups<Type::kGroup, Type::kSigned>(total, first, values, block, *tile.y[0]);
        });
    if constexpr (Type::kSigned) {
      tile.AddScaled256(0, 0, total);
    } else {
      tile.template AddScaledAndMinimum<Type::kGroup>(0, 0, total);
    }
    tile.NextActivations();
  }
  tile.Finish(a);
}

// The panel of such a type.
template <typename Type>
static INFERD_INLINE void Unpack256(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next,
                                    void* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += Type::kBytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    Type::LoadScales(rows, stride, block);
    next = Type::ForEach32(
        rows, stride, next, [&](int first, const __m512i(&values)[8]) __attribute__((always_inline)) {
#pragma GCC unroll 8
          for (int c = 0; c < 8; ++c) _mm512_store_si512(block.values[first + c], values[c]);
        });
  }
}

}  // namespace inferd::kernels::avx512
