// The micro-kernels; the arithmetic is that of reference/matmul.cc. A tile keeps one sum of f32 and one of int32 for
// each panel and token in registers: 24 of 32 for two panels and six tokens.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/x86_avx512/formats.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx512 {
namespace {

INFERD_INLINE __m512i BroadcastDword(const void* p) {
  int32_t dword;
  __builtin_memcpy(&dword, p, 4);
  return _mm512_set1_epi32(dword);
}

// Calls f(p, t) for each panel and token of a tile, unrolled.
template <int kPanels, int kTokens, typename F>
INFERD_INLINE void ForEach(const F& f) {
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) f(p, t);
  }
}

// The panels, activations and float sums of a tile.
template <typename PanelBlock, typename ActivationBlock, int kPanels, int kTokens>
struct Tile {
  const PanelBlock* weights[kPanels];
  const ActivationBlock* y[kTokens];
  __m512 sums[kPanels][kTokens];

  INFERD_INLINE explicit Tile(const TileArguments& a) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) weights[p] = static_cast<const PanelBlock*>(a.panels[p]);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) y[t] = static_cast<const ActivationBlock*>(a.activations[t]);
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      sums[p][t] = a.first ? _mm512_setzero_ps() : _mm512_loadu_ps(a.out[t] + p * kPanelRows);
    });
  }

  INFERD_INLINE void Next() {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) ++weights[p];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) ++y[t];
  }

  INFERD_INLINE void Finish(const TileArguments& a) const {
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      _mm512_storeu_ps(a.out[t] + p * kPanelRows, sums[p][t]);
    });
  }

  // dots += products of elements 4 * first .. 4 * (first + kCount) - 1 of the block
  template <int kCount>
  INFERD_INLINE void AddDots(int first, __m512i (&dots)[kPanels][kTokens]) const {
#pragma GCC unroll 8
    for (int c = first; c < first + kCount; ++c) {
      __m512i w[kPanels];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) w[p] = _mm512_load_si512(weights[p]->values[c]);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const __m512i quants = BroadcastDword(y[t]->quants + 4 * c);
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) dots[p][t] = _mm512_dpbusd_epi32(dots[p][t], w[p], quants);
      }
    }
  }

  INFERD_INLINE void AddScaled(int p, int t, const float* weight_scale, __m512i dot) {
    const __m512 scale = _mm512_mul_ps(_mm512_load_ps(weight_scale), _mm512_set1_ps(y[t]->scale));
    sums[p][t] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(dot), sums[p][t]);
  }
};

template <bool kSigned, int kPanels, int kTokens>
void Tile32(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kPanels, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m512i dots[kPanels][kTokens];
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      dots[p][t] = kSigned ? _mm512_set1_epi32(tile.y[t]->offset) : _mm512_setzero_si512();
    });
    tile.template AddDots<8>(0, dots);
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      tile.AddScaled(p, t, tile.weights[p]->scale, dots[p][t]);
      if constexpr (!kSigned) {
        const __m512 added = _mm512_load_ps(tile.weights[p]->second);
        tile.sums[p][t] = _mm512_fmadd_ps(added, _mm512_set1_ps(tile.y[t]->scaled_sum), tile.sums[p][t]);
      }
    });
    tile.Next();
  }
  tile.Finish(a);
}

// Two scales a block. The activations keep no sums of 16, so these are made here.
template <int kPanels, int kTokens>
void Tile16(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kPanels, kTokens> tile(a);
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(128));
  for (int64_t b = 0; b < a.blocks; ++b) {
    for (int half = 0; half < 2; ++half) {
      __m512i biased_sums[kTokens], dots[kPanels][kTokens];
      for (int t = 0; t < kTokens; ++t) {
        biased_sums[t] = _mm512_setzero_si512();
        for (int c = 4 * half; c < 4 * half + 4; ++c) {
          biased_sums[t] = _mm512_dpbusd_epi32(biased_sums[t], bias, BroadcastDword(tile.y[t]->quants + 4 * c));
        }
      }
      ForEach<kPanels, kTokens>(
          [&](int p, int t) { dots[p][t] = _mm512_sub_epi32(_mm512_setzero_si512(), biased_sums[t]); });
      tile.template AddDots<4>(4 * half, dots);
      ForEach<kPanels, kTokens>([&](int p, int t) {
        tile.AddScaled(p, t, half == 0 ? tile.weights[p]->scale : tile.weights[p]->second, dots[p][t]);
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

// Blocks of 256 with an integer scale for each kGroup elements.
template <int kGroup, bool kSigned, int kPanels, int kTokens>
void Tile256(const TileArguments& a) {
  Tile<PanelBlock256, ActivationBlock256, kPanels, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m512i totals[kPanels][kTokens];
    ForEach<kPanels, kTokens>([&](int p, int t)
                                  __attribute__((always_inline)) { totals[p][t] = _mm512_setzero_si512(); });
    for (int group = 0; group < 256 / kGroup; ++group) {
      __m512i dots[kPanels][kTokens];
      ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
        dots[p][t] = kSigned ? _mm512_set1_epi32(tile.y[t]->offsets[group]) : _mm512_setzero_si512();
      });
      tile.template AddDots<kGroup / 4>(group * (kGroup / 4), dots);
      ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
        const __m512i scale = _mm512_load_si512(tile.weights[p]->scales[group]);
        totals[p][t] = _mm512_add_epi32(totals[p][t], _mm512_mullo_epi32(dots[p][t], scale));
      });
    }
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      tile.AddScaled(p, t, tile.weights[p]->scale, totals[p][t]);
    });
    if constexpr (!kSigned) {
      ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
        const int16_t* activation_sums = kGroup == 16 ? tile.y[t]->sums16 : tile.y[t]->sums32;
        __m512i low = _mm512_setzero_si512();
#pragma GCC unroll 8
        for (int pair = 0; pair < 128 / kGroup; ++pair) {
          low = _mm512_dpwssd_epi32(low, _mm512_load_si512(tile.weights[p]->minimums[pair]),
                                    BroadcastDword(activation_sums + 2 * pair));
        }
        const __m512 minimum =
            _mm512_mul_ps(_mm512_load_ps(tile.weights[p]->minimum), _mm512_set1_ps(tile.y[t]->scale));
        tile.sums[p][t] = _mm512_fnmadd_ps(minimum, _mm512_cvtepi32_ps(low), tile.sums[p][t]);
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

template <TileKind kKind, int kPanels, int kTokens>
constexpr TileFunction OfKind() {
  switch (kKind) {
    case TileKind::kSigned32:
      return Tile32<true, kPanels, kTokens>;
    case TileKind::kUnsigned32Added:
      return Tile32<false, kPanels, kTokens>;
    case TileKind::kSigned16:
      return Tile16<kPanels, kTokens>;
    case TileKind::kSuperSigned16:
      return Tile256<16, true, kPanels, kTokens>;
    case TileKind::kSuperMinimum16:
      return Tile256<16, false, kPanels, kTokens>;
    case TileKind::kSuperMinimum32:
      return Tile256<32, false, kPanels, kTokens>;
  }
  return nullptr;
}

static_assert(kTilePanels == 2 && kTileTokens == 6);

template <TileKind kKind, int kPanels>
TileFunction OfTokens(int tokens) {
  switch (tokens) {
    case 1:
      return OfKind<kKind, kPanels, 1>();
    case 2:
      return OfKind<kKind, kPanels, 2>();
    case 3:
      return OfKind<kKind, kPanels, 3>();
    case 4:
      return OfKind<kKind, kPanels, 4>();
    case 5:
      return OfKind<kKind, kPanels, 5>();
    default:
      return OfKind<kKind, kPanels, kTileTokens>();
  }
}

}  // namespace

template <TileKind kKind>
TileFunction TileOf(int panels, int tokens) {
  return panels == 1 ? OfTokens<kKind, 1>(tokens) : OfTokens<kKind, kTilePanels>(tokens);
}

template TileFunction TileOf<TileKind::kSigned32>(int, int);
template TileFunction TileOf<TileKind::kUnsigned32Added>(int, int);
template TileFunction TileOf<TileKind::kSigned16>(int, int);
template TileFunction TileOf<TileKind::kSuperSigned16>(int, int);
template TileFunction TileOf<TileKind::kSuperMinimum16>(int, int);
template TileFunction TileOf<TileKind::kSuperMinimum32>(int, int);

}  // namespace inferd::kernels::avx512
