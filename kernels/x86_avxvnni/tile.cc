// The micro-kernels of the avxvnni variant; the arithmetic is that of reference/matmul.cc. A panel's 16 rows are two
// registers, its halves. Twelve integer sums, two registers of weights and one of activations fill the 16 registers;
// the float sums rest in memory between blocks.
#include <immintrin.h>

#include "kernels/activations.h"
#include "kernels/x86_avx2/tile_parts.h"
#include "kernels/x86_avxvnni/dots.h"
#include "kernels/x86_avxvnni/formats.h"

namespace inferd::kernels::avxvnni {
namespace {

using avx2::BroadcastDword;
using avx2::ForEach;
using avx2::LoadHalf;
using avx2::TileParts;
using panels::PanelBlock256;
using panels::PanelBlock32;

template <typename PanelBlock, typename ActivationBlock, int kTokens>
struct Tile : TileParts<PanelBlock, ActivationBlock, kTokens> {
  using TileParts<PanelBlock, ActivationBlock, kTokens>::TileParts;

  // dots += products of elements 4 * first .. 4 * (first + kCount) - 1 of the block
  template <int kBits, int kCount>
  INFERD_INLINE void AddDots(int first, __m256i (&dots)[2][kTokens]) const {
#pragma GCC unroll 8
    for (int c = first; c < first + kCount; ++c) {
      const __m256i w[2] = {Unsigned<kBits>(LoadHalf(this->weights->values[c], 0)),
                            Unsigned<kBits>(LoadHalf(this->weights->values[c], 1))};
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const __m256i quants = BroadcastDword(this->y[t]->quants + 4 * c);
        dots[0][t] = _mm256_dpbusd_avx_epi32(dots[0][t], w[0], quants);
        dots[1][t] = _mm256_dpbusd_avx_epi32(dots[1][t], w[1], quants);
      }
    }
  }
};

template <int kBits, Extra32 kExtra, int kTokens>
void Run32(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    tile.PrefetchLines();
    __m256i dots[2][kTokens];
    ForEach<kTokens>([&](int h, int t)
                         __attribute__((always_inline)) { dots[h][t] = FirstDots<kBits, kExtra>(*tile.y[t]); });
    tile.template AddDots<kBits, 8>(0, dots);
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      tile.AddScaled32(h, t, tile.weights->scale, dots[h][t]);
      if constexpr (kExtra == Extra32::kAdded) {
        tile.AddAdded(h, t);
      }
    });
    tile.Next();
  }
  tile.Finish(a);
}

// Two scales a block. The activations keep no sums of 16, so these are made here.
template <int kTokens>
void Run16(const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, kTokens> tile(a);
  const __m256i bias = _mm256_set1_epi8(static_cast<char>(128)), first = _mm256_set1_epi32(kShiftedZeroBits);
  for (int64_t b = 0; b < a.blocks; ++b) {
    tile.PrefetchLines();
    for (int part = 0; part < 2; ++part) {
      __m256i biased_sums[kTokens], dots[2][kTokens];
      for (int t = 0; t < kTokens; ++t) {
        biased_sums[t] = _mm256_setzero_si256();
        for (int c = 4 * part; c < 4 * part + 4; ++c) {
          biased_sums[t] = _mm256_dpbusd_avx_epi32(biased_sums[t], bias, BroadcastDword(tile.y[t]->quants + 4 * c));
        }
      }
      ForEach<kTokens>([&](int h, int t) { dots[h][t] = _mm256_sub_epi32(first, biased_sums[t]); });
      tile.template AddDots<8, 4>(4 * part, dots);
      ForEach<kTokens>([&](int h, int t) {
        tile.AddScaled32(h, t, part == 0 ? tile.weights->scale : tile.weights->second, dots[h][t]);
      });
    }
    tile.Next();
  }
  tile.Finish(a);
}

// Of a block of 256: totals += integer scales of kGroup elements times the products' sums, which are narrow if they fit
// in 16 bits.
template <bool kNarrow, int kBits, int kGroup, Extra256 kExtra, typename Tile, int kTokens>
INFERD_INLINE void AddGroups(Tile& tile, __m256i (&totals)[2][kTokens]) {
  for (int group = 0; group < 256 / kGroup; ++group) {
    if (group % (32 / kGroup) == 0) tile.PrefetchLines();
    __m256i dots[2][kTokens];
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      dots[h][t] = kExtra == Extra256::kMinimum ? _mm256_setzero_si256()
                                                : _mm256_set1_epi32(tile.y[t]->offsets[group] >> (8 - kBits));
    });
    tile.template AddDots<kBits, kGroup / 4>(group * (kGroup / 4), dots);
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      totals[h][t] = AddProduct<kNarrow>(totals[h][t], dots[h][t], LoadHalf(tile.weights->scales[group], h));
    });
  }
}

// Which activations make the sums of values of kBits too large for that.
template <int kBits, int kGroup>
constexpr uint32_t WideKind() {
  if (kBits == 4) return kGroup == 16 ? kNeverWide : kWideUnsigned4;
  if (kBits == 5) return kWideUnsigned5;
  return kBits == 6 ? kWideSigned6 : kAlwaysWide;
}

// Blocks of 256 with an integer scale, kept twice as int16, for each kGroup elements.
template <int kBits, int kGroup, Extra256 kExtra, int kTokens>
void Run256(const TileArguments& a) {
  constexpr uint32_t kWide = WideKind<kBits, kGroup>();
  Tile<PanelBlock256, ActivationBlock256, kTokens> tile(a);
  for (int64_t b = 0; b < a.blocks; ++b) {
    __m256i totals[2][kTokens];
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) { totals[h][t] = _mm256_setzero_si256(); });
    if (AnyWide<kWide>(tile.y)) {
      AddGroups<false, kBits, kGroup, kExtra>(tile, totals);
    } else {
      AddGroups<true, kBits, kGroup, kExtra>(tile, totals);
    }
    ForEach<kTokens>([&](int h, int t) __attribute__((always_inline)) {
      __m256i low = _mm256_setzero_si256();
      if constexpr (kExtra == Extra256::kMinimum) low = LowSum<kGroup>(*tile.weights, *tile.y[t], h);
      tile.template AddScaled256<kExtra>(h, t, totals[h][t], low);
    });
    tile.Next();
  }
  tile.Finish(a);
}

template <int kBits, Extra32 kExtra, int kTokens>
constexpr TileFunction Of32() {
  if constexpr (kExtra == Extra32::kTwoScales) {
    return Run16<kTokens>;
  } else {
    return Run32<kBits, kExtra, kTokens>;
  }
}

}  // namespace

static_assert(kTileTokens == 6);

template <int kBits, Extra32 kExtra>
TileFunction Tile32(int, int tokens) {
  switch (tokens) {
    case 1:
      return Of32<kBits, kExtra, 1>();
    case 2:
      return Of32<kBits, kExtra, 2>();
    case 3:
      return Of32<kBits, kExtra, 3>();
    case 4:
      return Of32<kBits, kExtra, 4>();
    case 5:
      return Of32<kBits, kExtra, 5>();
    default:
      return Of32<kBits, kExtra, kTileTokens>();
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
    case 4:
      return Run256<kBits, kGroup, kExtra, 4>;
    case 5:
      return Run256<kBits, kGroup, kExtra, 5>;
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

}  // namespace inferd::kernels::avxvnni
