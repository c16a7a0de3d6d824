// The micro-kernels; the arithmetic is that of reference/matmul.cc. A tile keeps one sum of f32 and one of int32 for
// each panel and token in registers: 24 of 32 for two panels and six tokens.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/tile_parts.h"

namespace inferd::kernels::avx512 {
namespace {

template <bool kSigned, int kPanels, int kTokens>
void Tile32(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kPanels, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m512i dots[kPanels][kTokens];
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      dots[p][t] = _mm512_set1_epi32(kSigned ? tile.y[t]->first_dot : kShiftedZeroBits);
    });
    tile.PrefetchLines();
    tile.template AddDots<8>(0, dots);
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      tile.AddScaled32(p, t, _mm512_load_ps(tile.weights[p]->scale), dots[p][t]);
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
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(128)), first = _mm512_set1_epi32(kShiftedZeroBits);
  for (int64_t b = 0; b < a.blocks; ++b) {
    for (int half = 0; half < 2; ++half) {
      if (half == 0) tile.PrefetchLines();
      __m512i biased_sums[kTokens], dots[kPanels][kTokens];
      for (int t = 0; t < kTokens; ++t) {
        biased_sums[t] = _mm512_setzero_si512();
        for (int c = 4 * half; c < 4 * half + 4; ++c) {
          biased_sums[t] = _mm512_dpbusd_epi32(biased_sums[t], bias, BroadcastDword(tile.y[t]->quants + 4 * c));
        }
      }
      ForEach<kPanels, kTokens>([&](int p, int t) { dots[p][t] = _mm512_sub_epi32(first, biased_sums[t]); });
      tile.template AddDots<4>(4 * half, dots);
      ForEach<kPanels, kTokens>([&](int p, int t) {
        const float* scale = half == 0 ? tile.weights[p]->scale : tile.weights[p]->second;
        tile.AddScaled32(p, t, _mm512_load_ps(scale), dots[p][t]);
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

// Of a block of 256: totals += integer scales of kGroup elements times the products' sums.
template <int kGroup, Sums kSums, bool kSigned, typename Tile, int kPanels, int kTokens>
INFERD_INLINE void AddGroups(Tile& tile, __m512i (&totals)[kPanels][kTokens]) {
  for (int group = 0; group < 256 / kGroup; ++group) {
    if (group * kGroup % 32 == 0) {
      tile.PrefetchLines();
      tile.PrefetchActivations(group * kGroup / 32);
    }
    __m512i dots[kPanels][kTokens];
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      dots[p][t] = _mm512_setzero_si512();
      if constexpr (kSigned) dots[p][t] = _mm512_set1_epi32(tile.y[t]->offsets[group]);
    });
    tile.template AddDots<kGroup / 4>(group * (kGroup / 4), dots);
    __m512i scales[kPanels];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) scales[p] = LoadScale<kSums, kSigned>(tile.weights[p]->scales[group]);
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      totals[p][t] = AddProduct<kSums>(totals[p][t], dots[p][t], scales[p]);
    });
  }
}

// Blocks of 256 with an integer scale for each kGroup elements, whose products' sums are narrow but in blocks of
// activations that have a kWide... of kWide.
template <int kGroup, uint32_t kWide, bool kSigned, int kPanels, int kTokens>
void Tile256(const TileArguments& a) {
  Tile<PanelBlock256, ActivationBlock256, kPanels, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m512i totals[kPanels][kTokens];
    ForEach<kPanels, kTokens>([&](int p, int t)
                                  __attribute__((always_inline)) { totals[p][t] = _mm512_setzero_si512(); });
    if (AnyWide<kWide>(tile.y)) {
      AddGroups<kGroup, Sums::kWide, kSigned>(tile, totals);
    } else {
      AddGroups<kGroup, Sums::kNarrow, kSigned>(tile, totals);
    }
    ForEach<kPanels, kTokens>([&](int p, int t) __attribute__((always_inline)) {
      if constexpr (kSigned) {
        tile.AddScaled256(p, t, totals[p][t]);
      } else {
        tile.template AddScaledAndMinimum<kGroup>(p, t, totals[p][t]);
      }
    });
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
      return Tile256<16, kAlwaysWide, true, kPanels, kTokens>;
    case TileKind::kSuperSigned6Bits16:
      return Tile256<16, kWideSigned6, true, kPanels, kTokens>;
    case TileKind::kSuperNarrow16:
      return Tile256<16, kNeverWide, true, kPanels, kTokens>;
    case TileKind::kSuperMinimum16:
      return Tile256<16, kNeverWide, false, kPanels, kTokens>;
    case TileKind::kSuperMinimum4Bits32:
      return Tile256<32, kWideUnsigned4, false, kPanels, kTokens>;
    case TileKind::kSuperMinimum5Bits32:
      return Tile256<32, kWideUnsigned5, false, kPanels, kTokens>;
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
template TileFunction TileOf<TileKind::kSuperSigned6Bits16>(int, int);
template TileFunction TileOf<TileKind::kSuperNarrow16>(int, int);
template TileFunction TileOf<TileKind::kSuperMinimum16>(int, int);
template TileFunction TileOf<TileKind::kSuperMinimum4Bits32>(int, int);
template TileFunction TileOf<TileKind::kSuperMinimum5Bits32>(int, int);

}  // namespace inferd::kernels::avx512
