// Panels of Q4_K, Q5_K and Q6_K.
#include "kernels/x86_avx512/block_scales.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/transpose.h"

namespace inferd::kernels::avx512 {
namespace {

constexpr size_t kQ4Bytes = 144, kQ5Bytes = 176, kQ6Bytes = 210;

// d, dmin and the eight six-bit pairs of scale and minimum (reference/unpack_k.cc) of 16 rows.
void UnpackHeader(const uint8_t* rows, size_t stride, PanelBlock256& block) {
  __m512i header[4];  // d and dmin, then 12 bytes s[0..11]
  LoadTransposed16(rows, stride, header);
  _mm512_store_ps(block.scale, LowHalves(header[0]));
  _mm512_store_ps(block.minimum, HighHalves(header[0]));
  const __m512i low6 = _mm512_set1_epi8(63), low4 = _mm512_set1_epi8(15), high2 = _mm512_set1_epi8(48);
  const __m512i s0 = header[1], s4 = header[2], s8 = header[3];
  StoreScales(_mm512_and_si512(s0, low6), block.scales);
  StoreScales(_mm512_or_si512(_mm512_and_si512(s8, low4), _mm512_and_si512(_mm512_srli_epi32(s0, 2), high2)),
              block.scales + 4);
  StoreMinimums(_mm512_and_si512(s4, low6), block.minimums);
  StoreMinimums(_mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(s8, 4), low4),
                                _mm512_and_si512(_mm512_srli_epi32(s4, 2), high2)),
                block.minimums + 2);
}

}  // namespace

void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  const __m512i low4 = _mm512_set1_epi8(15);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ4Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    UnpackHeader(rows, stride, block);
    for (int part = 0; part < 4; ++part) {  // 32 bytes: one group in the low nibbles, the next in the high ones
      next = Prefetch<kPanelRows * kQ4Bytes / 4>(next);
      __m512i pairs[8];
      LoadTransposed32(rows + 16 + 32 * part, stride, pairs);
#pragma GCC unroll 8
      for (int c = 0; c < 8; ++c) {
        _mm512_store_si512(block.values[16 * part + c], _mm512_and_si512(pairs[c], low4));
        _mm512_store_si512(block.values[16 * part + 8 + c], _mm512_and_si512(_mm512_srli_epi16(pairs[c], 4), low4));
      }
    }
  }
}

void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  const __m512i low4 = _mm512_set1_epi8(15), bit4 = _mm512_set1_epi8(16);
  constexpr int kAndThenOr = 0xEA;  // (a & b) | c
  for (int64_t b = 0; b < blocks; ++b, rows += kQ5Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    UnpackHeader(rows, stride, block);
    __m512i fifth[8];
    LoadTransposed32(rows + 16, stride, fifth);
    for (int part = 0; part < 4; ++part) {
      next = Prefetch<kPanelRows * kQ5Bytes / 4>(next);
      __m512i nibbles[8];
      LoadTransposed32(rows + 48 + 32 * part, stride, nibbles);
#pragma GCC unroll 8
      for (int c = 0; c < 8; ++c) {
        const __m512i low = _mm512_and_si512(nibbles[c], low4);
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(nibbles[c], 4), low4);
        const __m512i low_bit = _mm512_slli_epi16(fifth[c], 4), high_bit = _mm512_slli_epi16(fifth[c], 3);
        _mm512_store_si512(block.values[16 * part + c], _mm512_ternarylogic_epi32(low_bit, bit4, low, kAndThenOr));
        _mm512_store_si512(block.values[16 * part + 8 + c],
                           _mm512_ternarylogic_epi32(high_bit, bit4, high, kAndThenOr));
        fifth[c] = _mm512_srli_epi16(fifth[c], 2);  // for the next two groups
      }
    }
  }
}

namespace {

// The 16 signed scale bytes of a block, widened.
void UnpackQ6Scales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
  __m512i four[4];
  LoadTransposed16(rows, stride, four);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    _mm512_store_si512(block.scales[4 * j], _mm512_srai_epi32(_mm512_slli_epi32(four[j], 24), 24));
    _mm512_store_si512(block.scales[4 * j + 1], _mm512_srai_epi32(_mm512_slli_epi32(four[j], 16), 24));
    _mm512_store_si512(block.scales[4 * j + 2], _mm512_srai_epi32(_mm512_slli_epi32(four[j], 8), 24));
    _mm512_store_si512(block.scales[4 * j + 3], _mm512_srai_epi32(four[j], 24));
  }
}

}  // namespace

void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  alignas(64) uint8_t entries[64];
  for (int i = 0; i < 64; ++i) entries[i] = static_cast<uint8_t>(i - 32 + 128);
  const __m512i table = _mm512_load_si512(entries);  // by vpermb, which ignores the two highest bits
  const __m512i bits45 = _mm512_set1_epi8(48);
  constexpr int kSelect = 0xCA;  // a ? b : c
  for (int64_t b = 0; b < blocks; ++b, rows += kQ6Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    CopyHalves(rows + 208, stride, block.scale);
    UnpackQ6Scales(rows + 192, stride, block);
    for (int half = 0; half < 2; ++half) {
      next = Prefetch<kPanelRows * kQ6Bytes / 2>(next);
      __m512i high[8], low[8];
      LoadTransposed32(rows + 128 + 32 * half, stride, high);
#pragma GCC unroll 2
      for (int part = 0; part < 2;
           ++part) {  // 32 bytes: elements from 32 * part on in the low nibbles, 64 later the high
        LoadTransposed32(rows + 64 * half + 32 * part, stride, low);
#pragma GCC unroll 8
        for (int c = 0; c < 8; ++c) {
          const __m512i first_high = _mm512_slli_epi16(high[c], part == 0 ? 4 : 2);
          const __m512i last_high = part == 0 ? high[c] : _mm512_srli_epi16(high[c], 2);
          const __m512i first = _mm512_ternarylogic_epi32(bits45, first_high, low[c], kSelect);
          const __m512i last = _mm512_ternarylogic_epi32(bits45, last_high, _mm512_srli_epi16(low[c], 4), kSelect);
          _mm512_store_si512(block.values[32 * half + 8 * part + c], _mm512_permutexvar_epi8(first, table));
          _mm512_store_si512(block.values[32 * half + 16 + 8 * part + c], _mm512_permutexvar_epi8(last, table));
        }
      }
    }
    _mm512_store_ps(block.scale, CopiedHalves(block.scale));
  }
}

}  // namespace inferd::kernels::avx512
