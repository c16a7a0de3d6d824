// Panels of the types with a float scale for each 32 elements.
#include "kernels/reference/unpack.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/transpose.h"

namespace inferd::kernels::avx512 {
namespace {

// All formats' layouts: where a block's fields lie.
struct Layout {
  size_t bytes, scale, second, high_bits, values;
};
constexpr size_t kNone = ~size_t{0};

// A table for vpermb, which looks at the low six bits of an index: entry i is table[i % 16] + 128. So neither the high
// nibble of a byte nor what a 16-bit shift brings in needs a mask.
__m512i NibbleTable(const int8_t table[16], int bias) {
  alignas(64) int8_t entries[64];
  for (int i = 0; i < 64; ++i) entries[i] = static_cast<int8_t>(table[i % 16] + bias);
  return _mm512_load_si512(entries);
}

constexpr int8_t kIdentity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// The 32 nibbles of 16 rows through a table: low ones are elements 0..15, high ones 16..31.
inline __attribute__((always_inline)) void Nibbles(const uint8_t* rows, size_t stride, __m512i table, __m512i out[8]) {
  __m512i pairs[4];
  LoadTransposed16(rows, stride, pairs);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    out[j] = _mm512_permutexvar_epi8(pairs[j], table);
    out[j + 4] = _mm512_permutexvar_epi8(_mm512_srli_epi16(pairs[j], 4), table);
  }
}

// Adds 16 where bit 4c + i of lane r's word is set, to byte i of lane r of out[c].
inline __attribute__((always_inline)) void AddFifthBits(__m512i words, __m512i out[8]) {
  // Multishift takes, for each byte, eight bits of its qword (rows 2q and 2q+1) from a bit position on: the wanted bit
  // is to be the fifth of them.
  __m512i position =
      _mm512_set4_epi32(0x1F1E1D1C, static_cast<int>(0xFFFEFDFCu), 0x1F1E1D1C, static_cast<int>(0xFFFEFDFCu));
  const __m512i sixteen = _mm512_set1_epi8(16);
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) {
    out[c] = _mm512_add_epi8(out[c], _mm512_and_si512(_mm512_multishift_epi64_epi8(position, words), sixteen));
    position = _mm512_add_epi8(position, _mm512_set1_epi8(4));
  }
}

inline __attribute__((always_inline)) void Store(const __m512i values[8], PanelBlock32& block) {
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) _mm512_store_si512(block.values[c], values[c]);
}

// The scales (and added values) of all blocks, to be converted when their values are unpacked.
template <Layout kLayout>
void CopyScales(const uint8_t* rows, size_t stride, int64_t blocks, PanelBlock32* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += kLayout.bytes) {
    CopyHalves(rows + kLayout.scale, stride, panel[b].scale);
    if constexpr (kLayout.second != kNone) CopyHalves(rows + kLayout.second, stride, panel[b].second);
  }
}

template <Layout kLayout>
inline __attribute__((always_inline)) void ConvertScales(PanelBlock32& block) {
  _mm512_store_ps(block.scale, CopiedHalves(block.scale));
  if constexpr (kLayout.second != kNone) _mm512_store_ps(block.second, CopiedHalves(block.second));
}

template <Layout kLayout>
void UnpackNibbles(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, __m512i table,
                   PanelBlock32* panel) {
  CopyScales<kLayout>(rows, stride, blocks, panel);
  for (int64_t b = 0; b < blocks; ++b, rows += kLayout.bytes) {
    next = Prefetch<16 * kLayout.bytes>(next);
    __m512i values[8];
    Nibbles(rows + kLayout.values, stride, table, values);
    if constexpr (kLayout.high_bits != kNone) AddFifthBits(LoadDwords(rows + kLayout.high_bits, stride), values);
    Store(values, panel[b]);
    ConvertScales<kLayout>(panel[b]);
  }
}

constexpr Layout kQ4_0{18, 0, kNone, kNone, 2}, kQ4_1{20, 0, 2, kNone, 4}, kQ5_0{22, 0, kNone, 2, 6},
    kQ5_1{24, 0, 2, 4, 8}, kQ8_0{34, 0, kNone, kNone, 2};

}  // namespace

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  UnpackNibbles<kQ4_0>(rows, stride, blocks, next, NibbleTable(kIdentity, 128 - 8), static_cast<PanelBlock32*>(panel));
}
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  UnpackNibbles<kQ4_1>(rows, stride, blocks, next, NibbleTable(kIdentity, 0), static_cast<PanelBlock32*>(panel));
}
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  UnpackNibbles<kQ5_0>(rows, stride, blocks, next, NibbleTable(kIdentity, 128 - 16), static_cast<PanelBlock32*>(panel));
}
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  UnpackNibbles<kQ5_1>(rows, stride, blocks, next, NibbleTable(kIdentity, 0), static_cast<PanelBlock32*>(panel));
}
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  UnpackNibbles<kQ4_0>(rows, stride, blocks, next, NibbleTable(reference::kIq4Values, 128),
                       static_cast<PanelBlock32*>(panel));
}

void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel_bytes) {
  auto* panel = static_cast<PanelBlock32*>(panel_bytes);
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
  CopyScales<kQ8_0>(rows, stride, blocks, panel);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ8_0.bytes) {
    next = Prefetch<16 * kQ8_0.bytes>(next);
    __m512i values[8];
    LoadTransposed16(rows + kQ8_0.values, stride, values);
    LoadTransposed16(rows + kQ8_0.values + 16, stride, values + 4);
#pragma GCC unroll 8
    for (int c = 0; c < 8; ++c) values[c] = _mm512_xor_si512(values[c], bias);
    Store(values, panel[b]);
    ConvertScales<kQ8_0>(panel[b]);
  }
}

}  // namespace inferd::kernels::avx512
