// Quantized activations of the avx512 variant, as reference/quantize.cc defines them: 16 blocks of 32, or the 16 groups
// of a block of 256, have a lane each for what there is one of.
#include "kernels/panels/quantize.h"

#include <immintrin.h>

#include <cstddef>

#include "kernels/activations.h"
#include "kernels/x86_avx512/products.h"
#include "kernels/x86_avx512/tile_parts.h"

namespace inferd::kernels::avx512 {
namespace {

// The larger of both, each of 16 floats without sign; as integers, so that infinities and NaN come through.
INFERD_INLINE __m512i LargerMagnitudes(__m512i largest, const float* x) {
  return _mm512_max_epu32(largest, _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi32(0x7FFFFFFF)));
}

struct Add {
  __m512i operator()(__m512i a, __m512i b) const { return _mm512_add_epi32(a, b); }
};
struct Maximum {
  __m512i operator()(__m512i a, __m512i b) const { return _mm512_max_epu32(a, b); }
};

// Each 128 bits: lane j is what `op` makes of the four lanes of v[j].
template <typename Op>
INFERD_INLINE __m512i Fold4(const __m512i* v, Op op) {
  const __m512i v01 = op(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
  const __m512i v23 = op(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
  return op(_mm512_unpacklo_epi64(v01, v23), _mm512_unpackhi_epi64(v01, v23));
}

// 128 bits: what `op` makes of both halves of a, then of b: a's low 256 bits, a's high ones, b's low ones, b's high
// ones.
template <typename Op>
INFERD_INLINE __m512i FoldHalves(__m512i a, __m512i b, Op op) {
  return op(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

// Lane j is what `op` makes of all lanes of v[j].
template <typename Op>
INFERD_INLINE __m512i Fold16(const __m512i (&v)[16], Op op) {
  const __m512i r0 = Fold4(v, op), r1 = Fold4(v + 4, op), r2 = Fold4(v + 8, op), r3 = Fold4(v + 12, op);
  const __m512i low = op(_mm512_shuffle_i32x4(r0, r1, 0x44), _mm512_shuffle_i32x4(r0, r1, 0xEE));
  const __m512i high = op(_mm512_shuffle_i32x4(r2, r3, 0x44), _mm512_shuffle_i32x4(r2, r3, 0xEE));
  return FoldHalves(low, high, op);
}

// Lane 4i + j of v goes to lane 4j + i.
INFERD_INLINE __m512i Transposed4x4(__m512i v) {
  return _mm512_permutexvar_epi32(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0), v);
}

struct Scales {
  __m512 scale, inverse;
};

INFERD_INLINE Scales ScalesOf(__m512i magnitudes) {
  const __m512 largest = _mm512_castsi512_ps(magnitudes), steps = _mm512_set1_ps(127.0f);
  const __mmask16 zero = _mm512_cmp_ps_mask(largest, _mm512_set1_ps(kSmallestMagnitude), _CMP_LT_OQ);
  const __mmask16 finite = _mm512_cmp_ps_mask(largest, _mm512_set1_ps(kTooLargeMagnitude), _CMP_LT_OQ);
  const __m512i rounded = _mm512_castps_si512(_mm512_div_ps(largest, steps));
  const __m512 scale = _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(~3)));
  const auto usual = static_cast<__mmask16>(finite & ~zero);
  return {_mm512_mask_mov_ps(_mm512_maskz_mov_ps(usual, scale), static_cast<__mmask16>(~finite),
                             _mm512_set1_ps(__builtin_nanf(""))),
          _mm512_maskz_div_ps(usual, steps, largest)};
}

// 64 integers nearest to x times `first`, of the first 32, and times `last`.
INFERD_INLINE __m512i Round64(const float* x, __m512 first, __m512 last) {
  const auto round = [x](int i, __m512 factor) __attribute__((always_inline)) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), factor));
  };
  const __m512i low = _mm512_packs_epi32(round(0, first), round(1, first));
  const __m512i high = _mm512_packs_epi32(round(2, last), round(3, last));
  return Transposed4x4(_mm512_packs_epi16(low, high));
}

// Sums of each four bytes.
INFERD_INLINE __m512i SumsOf4(__m512i bytes) {
  return _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), bytes);
}
INFERD_INLINE __m512i MagnitudeSumsOf4(__m512i bytes) {
  return _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_abs_epi8(bytes), _mm512_set1_epi8(1));
}

constexpr int kBlocksAtOnce = 16;

// What the blocks have before their quants: lane b is block b's.
INFERD_INLINE void StoreHeads(__m512 scale, __m512i sum, int count, ActivationBlock32* blocks) {
  const __m512 zero = _mm512_mul_ps(scale, _mm512_set1_ps(-kShiftedZero));
  const __m512i first = _mm512_sub_epi32(_mm512_set1_epi32(kShiftedZeroBits), _mm512_slli_epi32(sum, 7));
  const __m512 scaled_sum = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(sum));
  const __m512i a = _mm512_castps_si512(scale), b = _mm512_castps_si512(zero), d = _mm512_castps_si512(scaled_sum);
  const __m512i ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
  const __m512i cd_low = _mm512_unpacklo_epi32(first, d), cd_high = _mm512_unpackhi_epi32(first, d);
  alignas(64) uint8_t heads[4][64];  // [b % 4], of block b from byte 16 * (b / 4) on
  _mm512_store_si512(heads[0], _mm512_unpacklo_epi64(ab_low, cd_low));
  _mm512_store_si512(heads[1], _mm512_unpackhi_epi64(ab_low, cd_low));
  _mm512_store_si512(heads[2], _mm512_unpacklo_epi64(ab_high, cd_high));
  _mm512_store_si512(heads[3], _mm512_unpackhi_epi64(ab_high, cd_high));
  static_assert(offsetof(ActivationBlock32, quants) == 16);
  for (int i = 0; i < count; ++i) __builtin_memcpy(&blocks[i], heads[i % 4] + 16 * (i / 4), 16);
}

// Up to 16 blocks.
INFERD_INLINE void QuantizeBlocks(const float* x, int count, ActivationBlock32* blocks) {
  __m512i magnitudes[kBlocksAtOnce], sums[kBlocksAtOnce / 2];
#pragma GCC unroll 16
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    magnitudes[i] = _mm512_setzero_si512();
    if (i < count) magnitudes[i] = LargerMagnitudes(LargerMagnitudes(magnitudes[i], x + 32 * i), x + 32 * i + 16);
  }
  const Scales scales = ScalesOf(Fold16(magnitudes, Maximum()));
  alignas(64) float inverse[kBlocksAtOnce];
  _mm512_store_ps(inverse, scales.inverse);
#pragma GCC unroll 8
  for (int i = 0; i < kBlocksAtOnce; i += 2) {
    sums[i / 2] = _mm512_setzero_si512();
    if (i >= count) continue;
    const bool both = i + 1 < count;
    alignas(64) float twice[64];
    const float* from = x + 32 * i;
    if (!both) {
      __builtin_memcpy(twice, from, sizeof(twice) / 2);
      __builtin_memcpy(twice + 32, from, sizeof(twice) / 2);
      from = twice;
    }
    const __m512i bytes = Round64(from, _mm512_set1_ps(inverse[i]), _mm512_set1_ps(inverse[i + 1]));
    _mm256_storeu_si256((__m256i*)blocks[i].quants, _mm512_castsi512_si256(bytes));
    if (both) _mm256_storeu_si256((__m256i*)blocks[i + 1].quants, _mm512_extracti64x4_epi64(bytes, 1));
    sums[i / 2] = SumsOf4(bytes);
  }
  // The 128 bits are those of blocks 0, 2, 4, 6, then 1, 3, 5, 7, then 8, 10, ...
  const __m512i sum = FoldHalves(Fold4(sums, Add()), Fold4(sums + 4, Add()), Add());
  const __m512i order = _mm512_set_epi32(15, 11, 14, 10, 13, 9, 12, 8, 7, 3, 6, 2, 5, 1, 4, 0);
  StoreHeads(scales.scale, _mm512_permutexvar_epi32(order, sum), count, blocks);
}

void QuantizeBlock(const float* x, ActivationBlock256& block) {
  __m512i magnitudes = _mm512_setzero_si512(), sums[4], magnitude_sums[4];
#pragma GCC unroll 16
  for (int i = 0; i < 256; i += 16) magnitudes = LargerMagnitudes(magnitudes, x + i);
  const Scales scales = ScalesOf(_mm512_set1_epi32(static_cast<int>(_mm512_reduce_max_epu32(magnitudes))));
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i bytes = Round64(x + 64 * i, scales.inverse, scales.inverse);
    _mm512_storeu_si512(block.quants + 64 * i, bytes);
    sums[i] = SumsOf4(bytes);
    magnitude_sums[i] = MagnitudeSumsOf4(bytes);
  }
  const __m512i sums16 = Transposed4x4(Fold4(sums, Add()));  // lane i: of elements 16i..16i+15
  const __m512i magnitudes16 = Transposed4x4(Fold4(magnitude_sums, Add()));
  const __m512i sums32 = _mm512_add_epi32(sums16, _mm512_shuffle_epi32(sums16, _MM_PERM_CDAB));  // each twice
  const __m512i magnitudes32 = _mm512_add_epi32(magnitudes16, _mm512_shuffle_epi32(magnitudes16, _MM_PERM_CDAB));
  const __m512i one_sign32 = _mm512_add_epi32(magnitudes32, _mm512_abs_epi32(sums32));
  block.scale = _mm512_cvtss_f32(scales.scale);
  block.wide = WideOf({_mm512_reduce_max_epi32(magnitudes16), _mm512_reduce_max_epi32(one_sign32)});
  _mm512_storeu_si512(block.offsets, _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sums16, 7)));
  _mm256_storeu_si256((__m256i*)block.sums16, _mm512_cvtepi32_epi16(sums16));
  _mm_storeu_si128((__m128i*)block.sums32, _mm512_cvtepi64_epi16(sums32));  // the low half of each pair of lanes
}

struct Quantize {
  void operator()(const float* x, int64_t count, ActivationBlock32* blocks) const {
    int64_t b = 0;
    for (; b + kBlocksAtOnce <= count; b += kBlocksAtOnce) QuantizeBlocks(x + 32 * b, kBlocksAtOnce, blocks + b);
    if (b < count) QuantizeBlocks(x + 32 * b, static_cast<int>(count - b), blocks + b);
  }
  void operator()(const float* x, int64_t count, ActivationBlock256* blocks) const {
    for (int64_t b = 0; b < count; ++b) QuantizeBlock(x + 256 * b, blocks[b]);
  }
};

}  // namespace

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  panels::ForRows(format, x, rows, k, out, Quantize());
}

}  // namespace inferd::kernels::avx512
