// The micro-kernels of the avx2 variant; the arithmetic is that of reference/matmul.cc. A panel's 16 rows are two
// registers, its halves.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/x86_avx2/formats.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx2 {
namespace {

INFERD_INLINE __m256i BroadcastDword(const void* p) {
  int32_t dword;
  __builtin_memcpy(&dword, p, 4);
  return _mm256_set1_epi32(dword);
}

INFERD_INLINE __m256i LoadHalf(const void* p, int half) { return _mm256_load_si256((const __m256i*)p + half); }

// Keeps the compiler from making a tree of the additions, for which the registers do not suffice.
INFERD_INLINE void KeepInRegister(__m256i& v) { __asm__("" : "+x"(v)); }

// Calls f(half, token), unrolled.
template <int kTokens, typename F>
INFERD_INLINE void ForEach(const F& f) {
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) f(h, t);
  }
}

template <typename PanelBlock, typename ActivationBlock, int kTokens>
struct Tile {
  const PanelBlock* weights;
  const ActivationBlock* y[kTokens];
  __m256 sums[2][kTokens];

  INFERD_INLINE explicit Tile(const TileArguments& a) : weights(static_cast<const PanelBlock*>(a.panels[0])) {
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) y[t] = static_cast<const ActivationBlock*>(a.activations[t]);
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      sums[h][t] = a.first ? _mm256_setzero_ps() : _mm256_loadu_ps(a.out[t] + 8 * h);
    });
  }

  INFERD_INLINE void Next() {
    ++weights;
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) ++y[t];
  }

  INFERD_INLINE void Finish(const TileArguments& a) const {
    ForEach<kTokens>([&](int h, int t)
                         __attribute__((always_inline)) { _mm256_storeu_ps(a.out[t] + 8 * h, sums[h][t]); });
  }

  // dots += factor (pairs of int16) * products of elements 4 * first .. 4 * (first + kCount) - 1 of the block
  template <int kBits, int kCount>
  INFERD_INLINE void AddDots(int first, const __m256i (&factor)[2], __m256i (&dots)[2][kTokens]) const {
    constexpr int kSumsIn16Bits = kBits == 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1;
    constexpr int kStep = kSumsIn16Bits < kCount ? kSumsIn16Bits : kCount;
#pragma GCC unroll 8
    for (int begin = first; begin < first + kCount; begin += kStep) {
      __m256i pairs[2][kTokens];
#pragma GCC unroll 8
      for (int c = begin; c < begin + kStep; ++c) {
        const __m256i w[2] = {LoadHalf(weights->values[c], 0), LoadHalf(weights->values[c], 1)};
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          const __m256i quants = BroadcastDword(y[t]->quants + 4 * c);
#pragma GCC unroll 2
          for (int h = 0; h < 2; ++h) {
            const __m256i sum = kBits == 8 ? _mm256_maddubs_epi16(_mm256_abs_epi8(w[h]), _mm256_sign_epi8(quants, w[h]))
                                           : _mm256_maddubs_epi16(w[h], quants);
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

  INFERD_INLINE void AddScaled(int h, int t, const float* weight_scale, __m256i dot) {
    const __m256 scale = _mm256_mul_ps(_mm256_load_ps(weight_scale + 8 * h), _mm256_set1_ps(y[t]->scale));
    sums[h][t] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(dot), sums[h][t]);
  }
};

template <int kBits, Extra32 kExtra, int kTokens>
void Run32(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kTokens> tile(a);
  const __m256i ones[2] = {_mm256_set1_epi16(1), _mm256_set1_epi16(1)};
  constexpr int kParts = kExtra == Extra32::kTwoScales ? 2 : 1;
  for (int64_t b = 0; b < a.blocks; ++b) {
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      __m256i dots[2][kTokens];
      ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
        // The offset is for a bias of 2^7.
        dots[h][t] =
            kExtra == Extra32::kBias ? _mm256_set1_epi32(tile.y[t]->offset >> (8 - kBits)) : _mm256_setzero_si256();
      });
      tile.template AddDots<kBits, 8 / kParts>(part * 4, ones, dots);
      ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
        tile.AddScaled(h, t, part == 0 ? tile.weights->scale : tile.weights->second, dots[h][t]);
        if constexpr (kExtra == Extra32::kAdded) {
          const __m256 added = _mm256_load_ps(tile.weights->second + 8 * h);
          tile.sums[h][t] = _mm256_fmadd_ps(added, _mm256_set1_ps(tile.y[t]->scaled_sum), tile.sums[h][t]);
        }
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

// Sum of the block's minimums times the activations' sums of each group.
template <int kGroup>
INFERD_INLINE __m256i LowSum(const PanelBlock256& weights, const ActivationBlock256& y, int half) {
  const int16_t* activation_sums = kGroup == 16 ? y.sums16 : y.sums32;
  __m256i low = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int pair = 0; pair < 128 / kGroup; ++pair) {
    const __m256i sums = BroadcastDword(activation_sums + 2 * pair);
    low = _mm256_add_epi32(low, _mm256_madd_epi16(LoadHalf(weights.minimums[pair], half), sums));
  }
  return low;
}

template <int kBits, int kGroup, Extra256 kExtra, int kTokens>
void Run256(const TileArguments& a) {
  Tile<PanelBlock256, ActivationBlock256, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m256i dots[2][kTokens];
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) { dots[h][t] = _mm256_setzero_si256(); });
    for (int group = 0; group < 256 / kGroup; ++group) {
      const __m256i scales[2] = {LoadHalf(tile.weights->scales[group], 0), LoadHalf(tile.weights->scales[group], 1)};
      tile.template AddDots<kBits, kGroup / 4>(group * (kGroup / 4), scales, dots);
    }
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      if constexpr (kExtra == Extra256::kBias) {
        dots[h][t] = _mm256_sub_epi32(dots[h][t], LowSum<kGroup>(*tile.weights, *tile.y[t], h));
      }
      tile.AddScaled(h, t, tile.weights->scale, dots[h][t]);
      if constexpr (kExtra == Extra256::kMinimum) {
        const __m256 low = _mm256_cvtepi32_ps(LowSum<kGroup>(*tile.weights, *tile.y[t], h));
        const __m256 minimum = _mm256_load_ps(tile.weights->minimum + 8 * h);
        const __m256 scaled = _mm256_mul_ps(minimum, _mm256_set1_ps(tile.y[t]->scale));
        tile.sums[h][t] = _mm256_fnmadd_ps(scaled, low, tile.sums[h][t]);
      }
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
