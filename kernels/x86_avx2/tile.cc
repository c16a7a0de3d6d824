// The micro-kernels of the avx2 variant; the arithmetic is that of reference/matmul.cc. A panel's 16 rows are two
// registers, its halves.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/x86_avx2/dots.h"
#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/tile_parts.h"

namespace inferd::kernels::avx2 {
namespace {

// Keeps the compiler from making a tree of the additions, for which the registers do not suffice.
INFERD_INLINE void KeepInRegister(__m256i& v) { __asm__("" : "+x"(v)); }

template <typename PanelBlock, typename ActivationBlock, int kTokens>
struct Tile : TileParts<PanelBlock, ActivationBlock, kTokens> {
  using TileParts<PanelBlock, ActivationBlock, kTokens>::TileParts;

  // dots += factor (pairs of int16) * products of elements 4 * first .. 4 * (first + kCount) - 1 of the block
  template <int kBits, int kCount>
  INFERD_INLINE void AddDots(int first, const __m256i (&factor)[2], __m256i (&dots)[2][kTokens]) const {
    constexpr int kStep = kSumsIn16Bits<kBits> < kCount ? kSumsIn16Bits<kBits> : kCount;
#pragma GCC unroll 8
    for (int begin = first; begin < first + kCount; begin += kStep) {
      __m256i pairs[2][kTokens];
#pragma GCC unroll 8
      for (int c = begin; c < begin + kStep; ++c) {
        const __m256i w[2] = {LoadHalf(this->weights->values[c], 0), LoadHalf(this->weights->values[c], 1)};
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          const __m256i quants = BroadcastDword(this->y[t]->quants + 4 * c);
#pragma GCC unroll 2
          for (int h = 0; h < 2; ++h) {
            const __m256i sum = Pairs<kBits>(w[h], quants);
            pairs[h][t] = c == begin ? sum : _mm256_add_epi16(pairs[h][t], sum);
            KeepInRegister(pairs[h][t]);
          }
        }
      }
      ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
        dots[h][t] = _mm256_add_epi32(dots[h][t], _mm256_madd_epi16(pairs[h][t], factor[h]));
      });
    }
  }
};

template <int kBits, Extra32 kExtra, int kTokens>
void Run32(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kTokens> tile(a);
  const __m256i ones[2] = {_mm256_set1_epi16(1), _mm256_set1_epi16(1)};
  constexpr int kParts = kExtra == Extra32::kTwoScales ? 2 : 1;
  for (int64_t b = 0; b < a.blocks; ++b) {
    tile.PrefetchLines();
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      __m256i dots[2][kTokens];
      ForEach<kTokens>([&](int h, int t)
                           __attribute__((always_inline)) { dots[h][t] = FirstDots<kBits, kExtra>(*tile.y[t]); });
      tile.template AddDots<kBits, 8 / kParts>(part * 4, ones, dots);
      ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
        tile.AddScaled32(h, t, part == 0 ? tile.weights->scale : tile.weights->second, dots[h][t]);
        if constexpr (kExtra == Extra32::kAdded) {
          tile.AddAdded(h, t);
        }
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

template <int kBits, int kGroup, Extra256 kExtra, int kTokens>
void Run256(const TileArguments& a) {
  Tile<PanelBlock256, ActivationBlock256, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m256i dots[2][kTokens];
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) { dots[h][t] = _mm256_setzero_si256(); });
    for (int group = 0; group < 256 / kGroup; ++group) {
      if (group % (32 / kGroup) == 0) tile.PrefetchLines();
      const __m256i scales[2] = {LoadHalf(tile.weights->scales[group], 0), LoadHalf(tile.weights->scales[group], 1)};
      tile.template AddDots<kBits, kGroup / 4>(group * (kGroup / 4), scales, dots);
    }
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      __m256i low = _mm256_setzero_si256();
      if constexpr (kExtra != Extra256::kNone) low = LowSum<kGroup>(*tile.weights, *tile.y[t], h);
      if constexpr (kExtra == Extra256::kBias) dots[h][t] = _mm256_sub_epi32(dots[h][t], low);
      tile.template AddScaled256<kExtra>(h, t, dots[h][t], low);
    });
    tile.Next();
  }
  tile.Finish(a);
}

}  // namespace

static_assert(kTileTokens == 4);

template <int kBits, Extra32 kExtra>
TileFunction Tile32(int, int tokens) {
  switch (tokens) {
    case 1:
      return Run32<kBits, kExtra, 1>;
    case 2:
      return Run32<kBits, kExtra, 2>;
    case 3:
      return Run32<kBits, kExtra, 3>;
    default:
      return Run32<kBits, kExtra, kTileTokens>;
  }
}

template <int kBits, int kGroup, Extra256 kExtra>
TileFunction Tile256(int, int tokens) {
  switch (tokens) {
    case 1:
      return Run256<kBits, kGroup, kExtra, 1>;
    case 2:
      return Run256<kBits, kGroup, kExtra, 2>;
    case 3:
      return Run256<kBits, kGroup, kExtra, 3>;
    default:
      return Run256<kBits, kGroup, kExtra, kTileTokens>;
  }
}

template TileFunction Tile32<4, Extra32::kBias>(int, int);
template TileFunction Tile32<4, Extra32::kAdded>(int, int);
template TileFunction Tile32<5, Extra32::kBias>(int, int);
template TileFunction Tile32<5, Extra32::kAdded>(int, int);
template TileFunction Tile32<8, Extra32::kNone>(int, int);
template TileFunction Tile32<8, Extra32::kTwoScales>(int, int);
template TileFunction Tile256<4, 16, Extra256::kMinimum>(int, int);
template TileFunction Tile256<4, 32, Extra256::kMinimum>(int, int);
template TileFunction Tile256<5, 32, Extra256::kMinimum>(int, int);
template TileFunction Tile256<6, 16, Extra256::kBias>(int, int);
template TileFunction Tile256<8, 16, Extra256::kNone>(int, int);

}  // namespace inferd::kernels::avx2
