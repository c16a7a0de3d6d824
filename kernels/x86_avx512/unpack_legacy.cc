// Panels of the types with a float scale for each 32 elements.
#include "kernels/reference/unpack.h"
#include "kernels/x86_avx512/formats.h"
#include "kernels/x86_avx512/transpose.h"

#define INFERD_INLINE inline __attribute__((always_inline))

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

template <Layout kLayout>
INFERD_INLINE void UnpackBlock(const uint8_t* rows, size_t stride, const __m512i* header, __m512i table,
                               PanelBlock32& block) {
  __m512i values[8];
  LoadValues<kLayout>(rows, stride, values);
  if constexpr (kLayout.header_dwords == 2) PutFifthBits(header[1], values);
#pragma GCC unroll 8
  for (int c = 0; c < 8; ++c) {
    const __m512i value =
        kLayout.bytes == kQ8_0.bytes ? _mm512_xor_si512(values[c], table) : _mm512_permutexvar_epi8(values[c], table);
    _mm512_store_si512(block.values[c], value);
  }
  _mm512_store_ps(block.scale, kLayout.power_of_two ? PowersOfTwo(header[0]) : LowHalves(header[0]));
  if constexpr (kLayout.added) _mm512_store_ps(block.second, HighHalves(header[0]));
}

template <Layout kLayout>
void Unpack(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, __m512i table, void* panel) {
  auto* out = static_cast<PanelBlock32*>(panel);
  const __m512i choice = kHeaderChoice<kLayout>.Load();
  while (blocks > 0) {
    __m512i headers[4];
    LoadChosenTransposed(rows, stride, HeaderBytes<kLayout>(blocks), choice, headers);
#pragma GCC unroll 4
    for (int b = 0; b < kLayout.blocks_at_once; ++b) {
      if (b == blocks) return;
      next = Prefetch<kPanelRows * kLayout.bytes>(next);
      UnpackBlock<kLayout>(rows, stride, headers + b * kLayout.header_dwords, table, *out);
      rows += kLayout.bytes;
      ++out;
    }
    blocks -= kLayout.blocks_at_once;
  }
}

}  // namespace

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0>(rows, stride, blocks, next, kTableQ4_0.Load(), panel);
}
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_1>(rows, stride, blocks, next, kTableQ4_1.Load(), panel);
}
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_0>(rows, stride, blocks, next, kTableQ5_0.Load(), panel);
}
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_1>(rows, stride, blocks, next, kTableQ5_1.Load(), panel);
}
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0>(rows, stride, blocks, next, kTableIQ4_NL.Load(), panel);
}
void UnpackMXFP4(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kMXFP4>(rows, stride, blocks, next, kTableMXFP4.Load(), panel);
}
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ8_0>(rows, stride, blocks, next, kTableQ8_0.Load(), panel);
}

}  // namespace inferd::kernels::avx512
