// Q4_K, Q5_K and Q6_K: their panels, and their product with one token. reference/unpack_k.cc shows their blocks.
#include "kernels/x86_avx512/block_scales.h"
#include "kernels/x86_avx512/direct_256.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/transpose.h"

namespace inferd::kernels::avx512 {
namespace {

// d, dmin and the eight six-bit pairs of scale and minimum.
void LoadSixBitScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
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

struct Q4_K {
  static constexpr size_t kBytes = 144;
  static constexpr int kGroup = 32;
  static constexpr bool kSigned = false;

  static void LoadScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
    LoadSixBitScales(rows, stride, block);
  }

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach32(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m512i low4 = _mm512_set1_epi8(15);
    for (int part = 0; part < 4; ++part) {  // 32 bytes: one group in the low nibbles, the next in the high ones
      next = Prefetch<kPanelRows * kBytes / 4>(next);
      __m512i pairs[8], low[8], high[8];
      LoadTransposed32(rows + 16 + 32 * part, stride, pairs);
#pragma GCC unroll 8
      for (int c = 0; c < 8; ++c) {
        low[c] = _mm512_and_si512(pairs[c], low4);
        high[c] = _mm512_and_si512(_mm512_srli_epi16(pairs[c], 4), low4);
      }
      f(16 * part, low);
      f(16 * part + 8, high);
    }
    return next;
  }
};

struct Q5_K {
  static constexpr size_t kBytes = 176;
  static constexpr int kGroup = 32;
  static constexpr bool kSigned = false;

  static void LoadScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
    LoadSixBitScales(rows, stride, block);
  }

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach32(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m512i low4 = _mm512_set1_epi8(15), bit4 = _mm512_set1_epi8(16);
    constexpr int kAndThenOr = 0xEA;  // (a & b) | c
    __m512i fifth[8];
    LoadTransposed32(rows + 16, stride, fifth);
    for (int part = 0; part < 4; ++part) {
      next = Prefetch<kPanelRows * kBytes / 4>(next);
      __m512i nibbles[8], low[8], high[8];
      LoadTransposed32(rows + 48 + 32 * part, stride, nibbles);
#pragma GCC unroll 8
      for (int c = 0; c < 8; ++c) {
        const __m512i low_bit = _mm512_slli_epi16(fifth[c], 4), high_bit = _mm512_slli_epi16(fifth[c], 3);
        low[c] = _mm512_ternarylogic_epi32(low_bit, bit4, _mm512_and_si512(nibbles[c], low4), kAndThenOr);
        const __m512i high_nibble = _mm512_and_si512(_mm512_srli_epi16(nibbles[c], 4), low4);
        high[c] = _mm512_ternarylogic_epi32(high_bit, bit4, high_nibble, kAndThenOr);
        fifth[c] = _mm512_srli_epi16(fifth[c], 2);  // for the next two groups
      }
      f(16 * part, low);
      f(16 * part + 8, high);
    }
    return next;
  }
};

// For vpermb, which ignores the two highest bits of an index: i - 32 + 128.
struct alignas(64) Q6Table {
  uint8_t entries[64];
};
constexpr Q6Table kQ6Table = [] {
  Q6Table table{};
  for (int i = 0; i < 64; ++i) table.entries[i] = static_cast<uint8_t>(i - 32 + 128);
  return table;
}();

struct Q6_K {
  static constexpr size_t kBytes = 210;
  static constexpr int kGroup = 16;
  static constexpr bool kSigned = true;

  // The 16 signed scale bytes of a block, widened; and d.
  static void LoadScales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
    alignas(64) uint16_t halves[kPanelRows];
    CopyHalves(rows + 208, stride, halves);
    __m512i four[4];
    LoadTransposed16(rows + 192, stride, four);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      _mm512_store_si512(block.scales[4 * j], _mm512_srai_epi32(_mm512_slli_epi32(four[j], 24), 24));
      _mm512_store_si512(block.scales[4 * j + 1], _mm512_srai_epi32(_mm512_slli_epi32(four[j], 16), 24));
      _mm512_store_si512(block.scales[4 * j + 2], _mm512_srai_epi32(_mm512_slli_epi32(four[j], 8), 24));
      _mm512_store_si512(block.scales[4 * j + 3], _mm512_srai_epi32(four[j], 24));
    }
    _mm512_store_ps(block.scale, CopiedHalves(halves));
  }

  template <typename F>
  static INFERD_INLINE const uint8_t* ForEach32(const uint8_t* rows, size_t stride, const uint8_t* next, const F& f) {
    const __m512i table = _mm512_load_si512(kQ6Table.entries), bits45 = _mm512_set1_epi8(48);
    constexpr int kSelect = 0xCA;           // a ? b : c
    for (int half = 0; half < 2; ++half) {  // 128 elements
      __m512i high_bits[8], nibbles[8], first[8], last[8];
      next = Prefetch<kPanelRows * kBytes / 6>(next);
      LoadTransposed32(rows + 128 + 32 * half, stride, high_bits);
#pragma GCC unroll 2
      for (int part = 0; part < 2; ++part) {  // 32 bytes: elements from 32 * part on in the low nibbles, 64 later in
                                              // the high ones
        next = Prefetch<kPanelRows * kBytes / 6>(next);
        LoadTransposed32(rows + 64 * half + 32 * part, stride, nibbles);
#pragma GCC unroll 8
        for (int c = 0; c < 8; ++c) {
          const __m512i first_bits = _mm512_slli_epi16(high_bits[c], part == 0 ? 4 : 2);
          const __m512i last_bits = part == 0 ? high_bits[c] : _mm512_srli_epi16(high_bits[c], 2);
          first[c] = _mm512_permutexvar_epi8(_mm512_ternarylogic_epi32(bits45, first_bits, nibbles[c], kSelect), table);
          const __m512i high_nibbles = _mm512_srli_epi16(nibbles[c], 4);
          last[c] = _mm512_permutexvar_epi8(_mm512_ternarylogic_epi32(bits45, last_bits, high_nibbles, kSelect), table);
        }
        f(32 * half + 8 * part, first);
        f(32 * half + 16 + 8 * part, last);
      }
    }
    return next;
  }
};

}  // namespace

void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q4_K>(rows, stride, blocks, next, panel);
}
void DirectQ4_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct256<Q4_K>(rows, stride, next, a);
}
void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q5_K>(rows, stride, blocks, next, panel);
}
void DirectQ5_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct256<Q5_K>(rows, stride, next, a);
}
void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q6_K>(rows, stride, blocks, next, panel);
}
void DirectQ6_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct256<Q6_K>(rows, stride, next, a);
}

}  // namespace inferd::kernels::avx512
