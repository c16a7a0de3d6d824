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
    for (int part = 0; part < 8;
         ++part) {  // 16 bytes: half of one group of 32 in the low, of the next in the high nibbles
      const int c = part / 2 * 16 + part % 2 * 4;
      next = Prefetch<kPanelRows * kQ4Bytes / 8>(next);
      __m512i pairs[4];
      LoadTransposed16(rows + 16 + 16 * part, stride, pairs);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        _mm512_store_si512(block.values[c + j], _mm512_and_si512(pairs[j], low4));
        _mm512_store_si512(block.values[c + 8 + j], _mm512_and_si512(_mm512_srli_epi16(pairs[j], 4), low4));
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
    for (int half = 0; half < 2; ++half) {  // 16 bytes of fifth bits serve half of every group
      __m512i fifth[4];
      LoadTransposed16(rows + 16 + 16 * half, stride, fifth);
#pragma GCC unroll 4
      for (int pair = 0; pair < 4; ++pair) {
        next = Prefetch<kPanelRows * kQ5Bytes / 8>(next);
        __m512i nibbles[4];
        LoadTransposed16(rows + 48 + 32 * pair + 16 * half, stride, nibbles);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const __m512i low = _mm512_and_si512(nibbles[j], low4);
          const __m512i high = _mm512_and_si512(_mm512_srli_epi16(nibbles[j], 4), low4);
          const __m512i low_bit =
              pair < 2 ? _mm512_slli_epi16(fifth[j], 4 - 2 * pair) : _mm512_srli_epi16(fifth[j], 2 * pair - 4);
          const __m512i high_bit =
              pair < 2 ? _mm512_slli_epi16(fifth[j], 3 - 2 * pair) : _mm512_srli_epi16(fifth[j], 2 * pair - 3);
          const int c = 16 * pair + 4 * half + j;
          _mm512_store_si512(block.values[c], _mm512_ternarylogic_epi32(low_bit, bit4, low, kAndThenOr));
          _mm512_store_si512(block.values[c + 8], _mm512_ternarylogic_epi32(high_bit, bit4, high, kAndThenOr));
        }
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
    for (int part = 0; part < 4; ++part) {  // 16 of the 32 columns of a half of 128 elements
      const int half = part / 2, column = part % 2;
      next = Prefetch<kPanelRows * kQ6Bytes / 4>(next);
      __m512i high[4], first[4], second[4];
      LoadTransposed16(rows + 128 + 32 * half + 16 * column, stride, high);
      LoadTransposed16(rows + 64 * half + 16 * column, stride, first);
      LoadTransposed16(rows + 64 * half + 32 + 16 * column, stride, second);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const int c = 32 * half + 4 * column + j;
        const __m512i v0 = _mm512_ternarylogic_epi32(bits45, _mm512_slli_epi16(high[j], 4), first[j], kSelect);
        const __m512i v1 = _mm512_ternarylogic_epi32(bits45, _mm512_slli_epi16(high[j], 2), second[j], kSelect);
        const __m512i v2 = _mm512_ternarylogic_epi32(bits45, high[j], _mm512_srli_epi16(first[j], 4), kSelect);
        const __m512i v3 =
            _mm512_ternarylogic_epi32(bits45, _mm512_srli_epi16(high[j], 2), _mm512_srli_epi16(second[j], 4), kSelect);
        _mm512_store_si512(block.values[c], _mm512_permutexvar_epi8(v0, table));
        _mm512_store_si512(block.values[c + 8], _mm512_permutexvar_epi8(v1, table));
        _mm512_store_si512(block.values[c + 16], _mm512_permutexvar_epi8(v2, table));
        _mm512_store_si512(block.values[c + 24], _mm512_permutexvar_epi8(v3, table));
      }
    }
    _mm512_store_ps(block.scale, CopiedHalves(block.scale));
  }
}

}  // namespace inferd::kernels::avx512
