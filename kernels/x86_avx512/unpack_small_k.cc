// Panels of Q2_K, Q3_K and IQ4_XS; reference/unpack_k.cc shows their blocks.
#include "kernels/reference/unpack.h"
#include "kernels/x86_avx512/block_scales.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/transpose.h"

namespace inferd::kernels::avx512 {
namespace {

constexpr size_t kQ2Bytes = 84, kQ3Bytes = 110, kIQ4Bytes = 136;

__m512i Both(__m512i v, int bits) { return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(bits))); }

// Scales of six bits, less 32, of four groups: a byte each.
void StoreScalesLess32(__m512i four, int32_t (*scales)[kPanelRows]) {
  const __m512i bias = _mm512_set1_epi32(32);
  _mm512_store_si512(scales[0], _mm512_sub_epi32(ByteOfLanes<0>(four), bias));
  _mm512_store_si512(scales[1], _mm512_sub_epi32(ByteOfLanes<1>(four), bias));
  _mm512_store_si512(scales[2], _mm512_sub_epi32(ByteOfLanes<2>(four), bias));
  _mm512_store_si512(scales[3], _mm512_sub_epi32(ByteOfLanes<3>(four), bias));
}

void UnpackQ3Scales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
  __m512i tail[4];  // four bytes before the 12 of scales, then these
  LoadTransposed16(rows + 92, stride, tail);
  const __m512i s0 = tail[1], s4 = tail[2], high = tail[3];
  StoreScalesLess32(_mm512_or_si512(Both(s0, 15), Both(_mm512_slli_epi32(high, 4), 48)), block.scales);
  StoreScalesLess32(_mm512_or_si512(Both(s4, 15), Both(_mm512_slli_epi32(high, 2), 48)), block.scales + 4);
  StoreScalesLess32(_mm512_or_si512(Both(_mm512_srli_epi32(s0, 4), 15), Both(high, 48)), block.scales + 8);
  StoreScalesLess32(_mm512_or_si512(Both(_mm512_srli_epi32(s4, 4), 15), Both(_mm512_srli_epi32(high, 2), 48)),
                    block.scales + 12);
}

// The two bits of group 0..3 to the lowest place, those of the higher groups above them.
template <int kGroup>
__m512i PairsOf(__m512i v) {
  return kGroup == 0 ? v : _mm512_srli_epi16(v, 2 * kGroup);
}

// Bit `kGroup` (0..7) to place 2.
template <int kGroup>
__m512i ThirdBitOf(__m512i v) {
  return kGroup < 2 ? _mm512_slli_epi16(v, 2 - kGroup) : _mm512_srli_epi16(v, kGroup < 2 ? 0 : kGroup - 2);
}

// Four vectors of group kGroup (of 32 elements) of a half of 128.
template <int kHalf, int kGroup>
void StoreQ3Group(const __m512i pairs[4], const __m512i third[4], __m512i table, int column, PanelBlock256& block) {
  constexpr int kSelect = 0xCA;  // a ? b : c
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i index = _mm512_ternarylogic_epi32(_mm512_set1_epi8(4), ThirdBitOf<4 * kHalf + kGroup>(third[j]),
                                                    PairsOf<kGroup>(pairs[j]), kSelect);
    _mm512_store_si512(block.values[32 * kHalf + 8 * kGroup + 4 * column + j], _mm512_permutexvar_epi8(index, table));
  }
}

template <int kHalf>
void StoreQ3Half(const uint8_t* rows, size_t stride, const __m512i third[4], __m512i table, int column,
                 PanelBlock256& block) {
  __m512i pairs[4];
  LoadTransposed16(rows + 32 + 32 * kHalf + 16 * column, stride, pairs);
  StoreQ3Group<kHalf, 0>(pairs, third, table, column, block);
  StoreQ3Group<kHalf, 1>(pairs, third, table, column, block);
  StoreQ3Group<kHalf, 2>(pairs, third, table, column, block);
  StoreQ3Group<kHalf, 3>(pairs, third, table, column, block);
}

void StoreQ2Group(__m512i v, int c, PanelBlock256& block) {
  _mm512_store_si512(block.values[c], Both(v, 3));
  _mm512_store_si512(block.values[c + 8], Both(_mm512_srli_epi16(v, 2), 3));
  _mm512_store_si512(block.values[c + 16], Both(_mm512_srli_epi16(v, 4), 3));
  _mm512_store_si512(block.values[c + 24], Both(_mm512_srli_epi16(v, 6), 3));
}

}  // namespace

void UnpackQ2_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += kQ2Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    __m512i scales[4], tail[4];
    LoadTransposed16(rows, stride, scales);
    LoadTransposed16(rows + kQ2Bytes - 16, stride, tail);
    _mm512_store_ps(block.scale, LowHalves(tail[3]));
    _mm512_store_ps(block.minimum, HighHalves(tail[3]));
    for (int j = 0; j < 4; ++j) {
      StoreScales(Both(scales[j], 15), block.scales + 4 * j);
      StoreMinimums(Both(_mm512_srli_epi16(scales[j], 4), 15), block.minimums + 2 * j);
    }
    for (int part = 0; part < 4; ++part) {  // 16 of the 32 columns of a half of 128 elements
      next = Prefetch<kPanelRows * kQ2Bytes / 4>(next);
      __m512i pairs[4];
      LoadTransposed16(rows + 16 + 16 * part, stride, pairs);
      for (int j = 0; j < 4; ++j) StoreQ2Group(pairs[j], part / 2 * 32 + part % 2 * 4 + j, block);
    }
  }
}

void UnpackQ3_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  alignas(64) uint8_t entries[64];  // index: two bits and the third, whatever the higher bits
  for (int i = 0; i < 64; ++i) entries[i] = static_cast<uint8_t>(i % 8 - 4 + 128);
  const __m512i table = _mm512_load_si512(entries);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ3Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    CopyHalves(rows + 108, stride, block.scale);
    UnpackQ3Scales(rows, stride, block);
    for (int column = 0; column < 2; ++column) {
      next = Prefetch<kPanelRows * kQ3Bytes / 2>(next);
      __m512i third[4];
      LoadTransposed16(rows + 16 * column, stride, third);
      StoreQ3Half<0>(rows, stride, third, table, column, block);
      StoreQ3Half<1>(rows, stride, third, table, column, block);
    }
    _mm512_store_ps(block.scale, CopiedHalves(block.scale));
  }
}

void UnpackIQ4_XS(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  alignas(64) uint8_t entries[64];
  for (int i = 0; i < 64; ++i) entries[i] = static_cast<uint8_t>(reference::kIq4Values[i % 16] + 128);
  const __m512i table = _mm512_load_si512(entries);
  for (int64_t b = 0; b < blocks; ++b, rows += kIQ4Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    __m512i header[4];  // d and the high scale bits, the low scale nibbles
    LoadTransposed16(rows, stride, header);
    _mm512_store_ps(block.scale, LowHalves(header[0]));
    for (unsigned group = 0; group < 8; ++group) {
      next = Prefetch<kPanelRows * kIQ4Bytes / 8>(next);
      const __m512i low = _mm512_and_si512(_mm512_srli_epi32(header[1], 4 * group), _mm512_set1_epi32(15));
      const __m512i high = _mm512_and_si512(_mm512_srli_epi32(header[0], 12 + 2 * group), _mm512_set1_epi32(48));
      const __m512i scale = _mm512_sub_epi32(_mm512_or_si512(low, high), _mm512_set1_epi32(32));
      _mm512_store_si512(block.scales[2 * group], scale);
      _mm512_store_si512(block.scales[2 * group + 1], scale);
      __m512i pairs[4];
      LoadTransposed16(rows + 8 + 16 * group, stride, pairs);
#pragma GCC unroll 4
      for (unsigned j = 0; j < 4; ++j) {
        const __m512i second = _mm512_srli_epi16(pairs[j], 4);
        _mm512_store_si512(block.values[8 * group + j], _mm512_permutexvar_epi8(pairs[j], table));
        _mm512_store_si512(block.values[8 * group + 4 + j], _mm512_permutexvar_epi8(second, table));
      }
    }
  }
}

}  // namespace inferd::kernels::avx512
