// Q2_K, Q3_K and IQ4_XS: their panels, and their product with one token. reference/unpack_k.cc shows their blocks.
#include "kernels/reference/unpack.h"
#include "kernels/x86_avx512/block_scales.h"
#include "kernels/x86_avx512/direct_256.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/transpose.h"

namespace inferd::kernels::avx512 {
namespace {

INFERD_INLINE __m512i Both(__m512i v, int bits) {
  return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(bits)));
}

// The two bits of part 0..3 to the lowest place, with others above them.
INFERD_INLINE __m512i PairsOf(__m512i v, unsigned part) { return _mm512_srli_epi16(v, 2 * part); }

struct Q2_K {
  static constexpr size_t kBytes = 84;
  static constexpr int kGroup = 16;
  static constexpr bool kSigned = false;

  static void LoadScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
    __m512i scales[4], tail[4];  // a scale and a minimum in each byte; d and dmin are the last four
    LoadTransposed16(rows, stride, scales);
    LoadTransposed16(rows + kBytes - 16, stride, tail);
    _mm512_store_ps(block.scale, LowHalves(tail[3]));
    _mm512_store_ps(block.minimum, HighHalves(tail[3]));
    for (int j = 0; j < 4; ++j) {
      StoreScales(Both(scales[j], 15), block.scales + 4 * j);
      StoreMinimums(Both(_mm512_srli_epi16(scales[j], 4), 15), block.minimums + 2 * j);
    }
  }

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach32(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    for (int half = 0; half < 2; ++half) {
      next = Prefetch<kPanelRows * kBytes / 2>(next);
      __m512i pairs[8], values[8];
      LoadTransposed32(rows + 16 + 32 * half, stride, pairs);
#pragma GCC unroll 4
      for (unsigned part = 0; part < 4; ++part) {
#pragma GCC unroll 8
        for (int c = 0; c < 8; ++c) values[c] = Both(PairsOf(pairs[c], part), 3);
        f(32 * half + 8 * static_cast<int>(part), values);
      }
    }
    return next;
  }
};

// Scales of six bits, less 32, of four groups: a byte each.
void StoreScalesLess32(__m512i four, int32_t (*scales)[kPanelRows]) {
  const __m512i bias = _mm512_set1_epi32(32);
  _mm512_store_si512(scales[0], _mm512_sub_epi32(ByteOfLanes<0>(four), bias));
  _mm512_store_si512(scales[1], _mm512_sub_epi32(ByteOfLanes<1>(four), bias));
  _mm512_store_si512(scales[2], _mm512_sub_epi32(ByteOfLanes<2>(four), bias));
  _mm512_store_si512(scales[3], _mm512_sub_epi32(ByteOfLanes<3>(four), bias));
}

// For vpermb, which ignores the two highest bits of an index.
struct alignas(64) Table {
  uint8_t entries[64];
};

// By two bits and the third, whatever is above them.
constexpr Table kQ3Table = [] {
  Table table{};
  for (int i = 0; i < 64; ++i) table.entries[i] = static_cast<uint8_t>(i % 8 - 4 + 128);
  return table;
}();

constexpr Table kIQ4Table = [] {
  Table table{};
  for (int i = 0; i < 64; ++i) table.entries[i] = static_cast<uint8_t>(reference::kIq4Values[i % 16] + 128);
  return table;
}();

struct Q3_K {
  static constexpr size_t kBytes = 110;
  static constexpr int kGroup = 16;
  static constexpr bool kSigned = true;

  static void LoadScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
    alignas(64) uint16_t halves[kPanelRows];
    CopyHalves(rows + 108, stride, halves);
    __m512i tail[4];  // four bytes before the 12 of scales, then these
    LoadTransposed16(rows + 92, stride, tail);
    const __m512i s0 = tail[1], s4 = tail[2], high = tail[3];
    StoreScalesLess32(_mm512_or_si512(Both(s0, 15), Both(_mm512_slli_epi32(high, 4), 48)), block.scales);
    StoreScalesLess32(_mm512_or_si512(Both(s4, 15), Both(_mm512_slli_epi32(high, 2), 48)), block.scales + 4);
    StoreScalesLess32(_mm512_or_si512(Both(_mm512_srli_epi32(s0, 4), 15), Both(high, 48)), block.scales + 8);
    StoreScalesLess32(_mm512_or_si512(Both(_mm512_srli_epi32(s4, 4), 15), Both(_mm512_srli_epi32(high, 2), 48)),
                      block.scales + 12);
    _mm512_store_ps(block.scale, CopiedHalves(halves));
  }

  // Bit s of each byte of `third` belongs to the s-th 32 elements.
  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach32(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m512i table = _mm512_load_si512(kQ3Table.entries), bit2 = _mm512_set1_epi8(4);
    constexpr int kSelect = 0xCA;  // a ? b : c
    __m512i third[8];
    LoadTransposed32(rows, stride, third);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      next = Prefetch<kPanelRows * kBytes / 2>(next);
      __m512i pairs[8], values[8];
      LoadTransposed32(rows + 32 + 32 * half, stride, pairs);
#pragma GCC unroll 4
      for (unsigned part = 0; part < 4; ++part) {
#pragma GCC unroll 8
        for (int c = 0; c < 8; ++c) {
          const __m512i bit = half == 0 && part < 2 ? _mm512_slli_epi16(third[c], 2 - part)
                                                    : _mm512_srli_epi16(third[c], 4 * half + part - 2);
          const __m512i index = _mm512_ternarylogic_epi32(bit2, bit, PairsOf(pairs[c], part), kSelect);
          values[c] = _mm512_permutexvar_epi8(index, table);
        }
        f(32 * half + 8 * static_cast<int>(part), values);
      }
    }
    return next;
  }
};

struct IQ4_XS {
  static constexpr size_t kBytes = 136;
  static constexpr int kGroup = 16;
  static constexpr bool kSigned = true;

  static void LoadScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
    __m512i header[4];  // d and the high scale bits, the low scale nibbles
    LoadTransposed16(rows, stride, header);
    _mm512_store_ps(block.scale, LowHalves(header[0]));
    for (unsigned group = 0; group < 8; ++group) {
      const __m512i low = _mm512_and_si512(_mm512_srli_epi32(header[1], 4 * group), _mm512_set1_epi32(15));
      const __m512i high = _mm512_and_si512(_mm512_srli_epi32(header[0], 12 + 2 * group), _mm512_set1_epi32(48));
      const __m512i scale = _mm512_sub_epi32(_mm512_or_si512(low, high), _mm512_set1_epi32(32));
      _mm512_store_si512(block.scales[2 * group], scale);
      _mm512_store_si512(block.scales[2 * group + 1], scale);
    }
  }

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach32(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m512i table = _mm512_load_si512(kIQ4Table.entries);
    for (int group = 0; group < 8; ++group) {
      next = Prefetch<kPanelRows * kBytes / 8>(next);
      __m512i pairs[4], values[8];
      LoadTransposed16(rows + 8 + 16 * group, stride, pairs);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        values[j] = _mm512_permutexvar_epi8(pairs[j], table);
        values[j + 4] = _mm512_permutexvar_epi8(_mm512_srli_epi16(pairs[j], 4), table);
      }
      f(8 * group, values);
    }
    return next;
  }
};

}  // namespace

void UnpackQ2_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q2_K>(rows, stride, blocks, next, panel);
}
void DirectQ2_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct256<Q2_K>(rows, stride, next, a);
}
void UnpackQ3_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q3_K>(rows, stride, blocks, next, panel);
}
void DirectQ3_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct256<Q3_K>(rows, stride, next, a);
}
void UnpackIQ4_XS(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<IQ4_XS>(rows, stride, blocks, next, panel);
}
void DirectIQ4_XS(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct256<IQ4_XS>(rows, stride, next, a);
}

}  // namespace inferd::kernels::avx512
