// Types with a float scale for each 32 elements: their panels, and their product with one token.
#include "kernels/reference/unpack.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/tile_parts.h"
#include "kernels/x86_avx512/transpose.h"

namespace inferd::kernels::avx512 {
namespace {

// A block is a header (scale; added value; 32 fifth bits), then 16 bytes of nibbles or 32 of values. The headers of a
// few blocks lie within 64 bytes and are taken together.
struct Layout {
  size_t bytes;       // of a block
  size_t values;      // where they begin
  int header_dwords;  // 1: scale and added value; 2: also the fifth bits
  size_t fifth_bits;  // where they begin
  bool added;
  int blocks_at_once;
  bool power_of_two = false;  // the scale is one byte, an exponent
};

constexpr Layout kQ4_0{18, 2, 1, 0, false, 4}, kQ4_1{20, 4, 1, 0, true, 4}, kQ5_0{22, 6, 2, 2, false, 2},
    kQ5_1{24, 8, 2, 4, true, 2}, kQ8_0{34, 2, 1, 0, false, 2}, kMXFP4{17, 1, 1, 0, false, 4, true};

// 64 bytes for a register.
struct alignas(64) Bytes64 {
  uint8_t bytes[64];
  __m512i Load() const { return _mm512_load_si512(bytes); }
};

// The numbers of the headers' bytes for LoadChosenTransposed: dword b (or 2b and 2b + 1) is the header of block b.
template <Layout kLayout>
constexpr Bytes64 kHeaderChoice = [] {
  Bytes64 choice{};
  for (size_t dword = 0; dword < 4; ++dword) {
    const size_t block = dword / kLayout.header_dwords;
    const size_t begin = dword % kLayout.header_dwords == 0 ? 0 : kLayout.fifth_bits;
    for (size_t i = 0; i < 4 && block < kLayout.blocks_at_once; ++i) {
      choice.bytes[4 * dword + i] = static_cast<uint8_t>(block * kLayout.bytes + begin + i);
      choice.bytes[16 + 4 * dword + i] = static_cast<uint8_t>(choice.bytes[4 * dword + i] + 64);
    }
  }
  return choice;
}();

// Which bytes of a row the headers of `blocks` blocks need: none behind the last block.
template <Layout kLayout>
__mmask64 HeaderBytes(int64_t blocks) {
  const int64_t bytes = (blocks < kLayout.blocks_at_once ? blocks : kLayout.blocks_at_once) * kLayout.bytes;
  return bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
}

// A table for vpermb, which looks at the low six bits of an index: so neither the high nibble of a byte nor what a
// 16-bit shift brings in needs a mask.
template <size_t kSize>
constexpr Bytes64 ValueTable(const int8_t (&values)[kSize], int bias) {
  Bytes64 table{};
  for (size_t i = 0; i < 64; ++i) table.bytes[i] = static_cast<uint8_t>(values[i % kSize] + bias);
  return table;
}

// Counts up with a period of `period` from `first` on.
constexpr Bytes64 CountingTable(int period, int first) {
  Bytes64 table{};
  for (int i = 0; i < 64; ++i) table.bytes[i] = static_cast<uint8_t>(i % period + first);
  return table;
}

constexpr Bytes64 kTableQ4_0 = CountingTable(16, 128 - 8), kTableQ4_1 = CountingTable(16, 0),
                  kTableQ5_0 = CountingTable(32, 128 - 16), kTableQ5_1 = CountingTable(32, 0),
                  kTableQ8_0 = CountingTable(1, 128), kTableIQ4_NL = ValueTable(reference::kIq4Values, 128),
                  kTableMXFP4 = ValueTable(reference::kMxfp4Values, 128);

// Replaces bit 4 of byte i of lane r of out[c] by bit 4c + i of lane r of words. Multishift takes, for each byte, eight
// bits of its qword (rows 2q and 2q + 1) from a bit position on: the wanted bit is to be the fifth of them.
INFERD_INLINE void PutFifthBits(__m512i words, __m512i out[8]) {
  const __m512i first =
      _mm512_set4_epi32(0x1F1E1D1C, static_cast<int>(0xFFFEFDFCu), 0x1F1E1D1C, static_cast<int>(0xFFFEFDFCu));
  constexpr int kSelect = 0xCA;  // a ? b : c
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) {
    const __m512i position = _mm512_add_epi8(first, _mm512_set1_epi8(static_cast<char>(4 * c)));
    const __m512i bits = _mm512_multishift_epi64_epi8(position, words);
    out[c] = _mm512_ternarylogic_epi32(_mm512_set1_epi8(16), bits, out[c], kSelect);
  }
}

// The values of one block as its bytes have them, before the table.
template <Layout kLayout>
INFERD_INLINE void LoadValues(const uint8_t* rows, size_t stride, __m512i out[8]) {
  if constexpr (kLayout.bytes == kQ8_0.bytes) {
    LoadTransposed32(rows + kLayout.values, stride, out);
  } else {
    LoadTransposed16(rows + kLayout.values, stride, out);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) out[j + 4] = _mm512_srli_epi16(out[j], 4);
  }
}

// 2^(byte - 128) of the lanes' lowest bytes, which is subnormal for 0 and 1.
INFERD_INLINE __m512 PowersOfTwo(__m512i v) {
  const __m512i exponent = _mm512_and_si512(v, _mm512_set1_epi32(255));
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(exponent, _mm512_set1_epi32(1)), 23);
  const __mmask16 small = _mm512_cmplt_epi32_mask(exponent, _mm512_set1_epi32(2));
  return _mm512_castsi512_ps(_mm512_mask_sllv_epi32(normal, small, _mm512_set1_epi32(0x00200000), exponent));
}

// 32 elements of 16 rows, ready to be multiplied.
struct Block {
  __m512i values[8];
  __m512 scale, added;
};

template <Layout kLayout>
INFERD_INLINE Block LoadBlock(const uint8_t* rows, size_t stride, const __m512i* header, __m512i table) {
  Block block;
  LoadValues<kLayout>(rows, stride, block.values);
  if constexpr (kLayout.header_dwords == 2) PutFifthBits(header[1], block.values);
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) {
    block.values[c] = kLayout.bytes == kQ8_0.bytes ? _mm512_xor_si512(block.values[c], table)
                                                   : _mm512_permutexvar_epi8(block.values[c], table);
  }
  block.scale = kLayout.power_of_two ? PowersOfTwo(header[0]) : LowHalves(header[0]);
  block.added = kLayout.added ? HighHalves(header[0]) : _mm512_setzero_ps();
  return block;
}

// Calls f with each block in turn.
template <Layout kLayout, typename F>
INFERD_INLINE void ForEachBlock(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next,
                                const Bytes64& table, const F& f) {
  const __m512i choice = kHeaderChoice<kLayout>.Load(), values = table.Load();
  while (blocks > 0) {
    __m512i headers[4];
    LoadChosenTransposed(rows, stride, HeaderBytes<kLayout>(blocks), choice, headers);
#pragma GCC unroll 4
    for (int b = 0; b < kLayout.blocks_at_once; ++b) {
      if (b == blocks) return;
      next = Prefetch<kPanelRows * kLayout.bytes>(next);
      f(LoadBlock<kLayout>(rows, stride, headers + b * kLayout.header_dwords, values));
      rows += kLayout.bytes;
    }
    blocks -= kLayout.blocks_at_once;
  }
}

template <Layout kLayout, const Bytes64& kTable>
void Unpack(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  auto* out = static_cast<PanelBlock32*>(panel);
  ForEachBlock<kLayout>(
      rows, stride, blocks, next, kTable, [&](const Block& block) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int c = 0; c < 8; ++c) _mm512_store_si512(out->values[c], block.values[c]);
        _mm512_store_ps(out->scale, block.scale);
        if constexpr (kLayout.added) _mm512_store_ps(out->second, block.added);
        ++out;
      });
}

template <Layout kLayout, const Bytes64& kTable>
void Direct(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Tile<PanelBlock32, ActivationBlock32, 1, 1> tile(a);
  ForEachBlock<kLayout>(
      rows, stride, a.blocks, next, kTable, [&](const Block& block) __attribute__((always_inline)) {
        const ActivationBlock32& y = *tile.y[0];
        __m512i dot = _mm512_set1_epi32(kLayout.added ? kShiftedZeroBits : y.first_dot);
#pragma GCC unroll 8
        for (int c = 0; c < 8; ++c) dot = _mm512_dpbusd_epi32(dot, block.values[c], BroadcastDword(y.quants + 4 * c));
        tile.AddScaled32(0, 0, block.scale, dot);
        if constexpr (kLayout.added) {
          tile.sums[0][0] = _mm512_fmadd_ps(block.added, _mm512_set1_ps(y.scaled_sum), tile.sums[0][0]);
        }
        tile.NextActivations();
      });
  tile.Finish(a);
}

}  // namespace

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0, kTableQ4_0>(rows, stride, blocks, next, panel);
}
void DirectQ4_0(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kQ4_0, kTableQ4_0>(rows, stride, next, a);
}
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_1, kTableQ4_1>(rows, stride, blocks, next, panel);
}
void DirectQ4_1(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kQ4_1, kTableQ4_1>(rows, stride, next, a);
}
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_0, kTableQ5_0>(rows, stride, blocks, next, panel);
}
void DirectQ5_0(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kQ5_0, kTableQ5_0>(rows, stride, next, a);
}
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_1, kTableQ5_1>(rows, stride, blocks, next, panel);
}
void DirectQ5_1(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kQ5_1, kTableQ5_1>(rows, stride, next, a);
}
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ8_0, kTableQ8_0>(rows, stride, blocks, next, panel);
}
void DirectQ8_0(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kQ8_0, kTableQ8_0>(rows, stride, next, a);
}
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0, kTableIQ4_NL>(rows, stride, blocks, next, panel);
}
void DirectIQ4_NL(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kQ4_0, kTableIQ4_NL>(rows, stride, next, a);
}
void UnpackMXFP4(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kMXFP4, kTableMXFP4>(rows, stride, blocks, next, panel);
}
void DirectMXFP4(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& a) {
  Direct<kMXFP4, kTableMXFP4>(rows, stride, next, a);
}

}  // namespace inferd::kernels::avx512
