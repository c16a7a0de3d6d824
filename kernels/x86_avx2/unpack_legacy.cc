// Panels of the types with a float scale for each 32 elements.
#include "kernels/reference/unpack.h"
#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/transpose.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::avx2 {
namespace {

// A block is a header (scale; added value; 32 fifth bits), then 16 bytes of nibbles or 32 of values.
struct Layout {
  size_t bytes;       // of a block
  size_t values;      // where they begin
  size_t fifth_bits;  // where they begin; 0: none
  bool added;
};

constexpr Layout kQ4_0{18, 2, 0, false}, kQ4_1{20, 4, 0, true}, kQ5_0{22, 6, 2, false}, kQ5_1{24, 8, 4, true},
    kQ8_0{34, 2, 0, false};

// The first four bytes of all blocks to `scale`, and the fifth bits to `second`, as they are: these copies are long
// done when UnpackBlock reads them as vectors.
template <Layout kLayout>
void CopyHeaders(const uint8_t* rows, size_t stride, int64_t blocks, PanelBlock32* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += kLayout.bytes) {
#pragma GCC unroll 16
    for (size_t r = 0; r < kPanelRows; ++r) {
      __builtin_memcpy(&panel[b].scale[r], rows + r * stride, 4);
      if constexpr (kLayout.fifth_bits != 0) {
        __builtin_memcpy(&panel[b].second[r], rows + r * stride + kLayout.fifth_bits, 4);
      }
    }
  }
}

// 16 where bit 4c + i of the lane's word is set, in byte i of the lane
template <int c>
INFERD_INLINE __m256i FifthBits(__m256i words) {
  const __m256i byte = _mm256_set_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0, 0x0C0C0C0C, 0x08080808, 0x04040404, 0);
  const __m256i bits = _mm256_set1_epi32(c % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010u));
  const __m256i spread = _mm256_shuffle_epi8(words, _mm256_add_epi8(byte, _mm256_set1_epi8(c / 2)));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bits), bits);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

template <Layout kLayout, int c>
INFERD_INLINE void StoreNibbles(__m256i pairs, int half, __m256i table, PanelBlock32& block, __m256i fifth) {
  const __m256i low4 = _mm256_set1_epi8(15);
  __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(pairs, low4));
  __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(pairs, 4), low4));
  if constexpr (kLayout.fifth_bits != 0) {
    low = _mm256_or_si256(low, FifthBits<c>(fifth));
    high = _mm256_or_si256(high, FifthBits<c + 4>(fifth));
  }
  Store(block.values[c], half, low);
  Store(block.values[c + 4], half, high);
}

template <Layout kLayout>
INFERD_INLINE void UnpackBlock(const uint8_t* rows, size_t stride, __m256i table, PanelBlock32& block) {
  __m256i bytes[4][2];
  LoadTransposed16(rows + kLayout.values, stride, bytes);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    if constexpr (kLayout.bytes == kQ8_0.bytes) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) Store(block.values[c], half, bytes[c][half]);
    } else {
      const __m256i fifth = Load(block.second, half);
      StoreNibbles<kLayout, 0>(bytes[0][half], half, table, block, fifth);
      StoreNibbles<kLayout, 1>(bytes[1][half], half, table, block, fifth);
      StoreNibbles<kLayout, 2>(bytes[2][half], half, table, block, fifth);
      StoreNibbles<kLayout, 3>(bytes[3][half], half, table, block, fifth);
    }
    const __m256i header = Load(block.scale, half);
    _mm256_store_ps(block.scale + 8 * half, LowHalves(header));
    if constexpr (kLayout.added) _mm256_store_ps(block.second + 8 * half, HighHalves(header));
  }
  if constexpr (kLayout.bytes == kQ8_0.bytes) {
    LoadTransposed16(rows + kLayout.values + 16, stride, bytes);
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      Store(block.values[c + 4], 0, bytes[c][0]);
      Store(block.values[c + 4], 1, bytes[c][1]);
    }
  }
}

template <Layout kLayout>
void Unpack(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, const int8_t* table, void* panel) {
  auto* out = static_cast<PanelBlock32*>(panel);
  const __m256i values = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table));
  CopyHeaders<kLayout>(rows, stride, blocks, out);
  for (int64_t b = 0; b < blocks; ++b, rows += kLayout.bytes) {
    next = Prefetch<kPanelRows * kLayout.bytes>(next);
    UnpackBlock<kLayout>(rows, stride, values, out[b]);
  }
}

constexpr int8_t kNibbles[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0>(rows, stride, blocks, next, kNibbles, panel);
}
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_1>(rows, stride, blocks, next, kNibbles, panel);
}
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_0>(rows, stride, blocks, next, kNibbles, panel);
}
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_1>(rows, stride, blocks, next, kNibbles, panel);
}
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0>(rows, stride, blocks, next, reference::kIq4Values, panel);
}
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ8_0>(rows, stride, blocks, next, kNibbles, panel);
}

}  // namespace inferd::kernels::avx2
