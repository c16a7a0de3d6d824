// Panels of Q4_K, Q5_K and Q6_K.
#include "kernels/x86_avx2/formats.h"
#include "kernels/x86_avx2/transpose.h"

namespace inferd::kernels::avx2 {
namespace {

constexpr size_t kQ4Bytes = 144, kQ5Bytes = 176, kQ6Bytes = 210;

// For vpshufb: each lane's bytes a and b as two words, in their low or in their high bytes.
__m256i WordsOfBytes(int a, int b, bool high) {
  const int words = high ? 0x00800080 | a << 8 | b << 24 : static_cast<int>(0x80008000u) | a | b << 16;
  const __m256i lane = _mm256_set_epi32(0x0C, 0x08, 0x04, 0, 0x0C, 0x08, 0x04, 0);
  const __m256i step = _mm256_mullo_epi32(lane, _mm256_set1_epi32(high ? 0x01000100 : 0x00010001));
  return _mm256_add_epi8(_mm256_set1_epi32(words), step);
}

// Four groups' scales and minimums, a byte each.
void StoreSixBits(__m256i scales, __m256i minimums, int first, int half, PanelBlock256& block) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    Store(block.scales[first + j], half, _mm256_shuffle_epi8(scales, WordsOfBytes(j, j, false)));
  }
  Store(block.minimums[first / 2], half, _mm256_shuffle_epi8(minimums, WordsOfBytes(0, 1, false)));
  Store(block.minimums[first / 2 + 1], half, _mm256_shuffle_epi8(minimums, WordsOfBytes(2, 3, false)));
}

// d, dmin and the eight six-bit pairs of scale and minimum (reference/unpack_k.cc) of 16 rows.
void UnpackHeader(const uint8_t* rows, size_t stride, PanelBlock256& block) {
  const __m256i low6 = _mm256_set1_epi8(63), low4 = _mm256_set1_epi8(15), high2 = _mm256_set1_epi8(48);
  __m256i header[4][2];  // d and dmin, then 12 bytes s[0..11]
  LoadTransposed16(rows, stride, header);
  for (int half = 0; half < 2; ++half) {
    _mm256_store_ps(block.scale + 8 * half, LowHalves(header[0][half]));
    _mm256_store_ps(block.minimum + 8 * half, HighHalves(header[0][half]));
    const __m256i s0 = header[1][half], s4 = header[2][half], s8 = header[3][half];
    StoreSixBits(_mm256_and_si256(s0, low6), _mm256_and_si256(s4, low6), 0, half, block);
    const __m256i s0_high = _mm256_and_si256(_mm256_srli_epi32(s0, 2), high2);
    const __m256i s4_high = _mm256_and_si256(_mm256_srli_epi32(s4, 2), high2);
    StoreSixBits(_mm256_or_si256(_mm256_and_si256(s8, low4), s0_high),
                 _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(s8, 4), low4), s4_high), 4, half, block);
  }
}

// The 16 signed scale bytes of a block as pairs, and 32 times them as what the bias of 32 takes away.
void UnpackQ6Scales(const uint8_t* rows, size_t stride, PanelBlock256& block) {
  __m256i scales[4][2];
  LoadTransposed16(rows, stride, scales);
  for (int half = 0; half < 2; ++half) {
    for (int j = 0; j < 16; ++j) {
      const __m256i words = _mm256_shuffle_epi8(scales[j / 4][half], WordsOfBytes(j % 4, j % 4, true));
      Store(block.scales[j], half, _mm256_srai_epi16(words, 8));
    }
    for (int pair = 0; pair < 8; ++pair) {
      const int first = pair % 2 * 2;
      const __m256i words = _mm256_shuffle_epi8(scales[pair / 2][half], WordsOfBytes(first, first + 1, true));
      Store(block.minimums[pair], half, _mm256_srai_epi16(words, 3));
    }
  }
}

}  // namespace

void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  const __m256i low4 = _mm256_set1_epi8(15);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ4Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    UnpackHeader(rows, stride, block);
    for (int part = 0; part < 8;
         ++part) {  // 16 bytes: half of a group of 32 in the low nibbles, of the next in the high
      next = Prefetch<kPanelRows * kQ4Bytes / 8>(next);
      const int first = part / 2 * 16 + part % 2 * 4;
      __m256i pairs[4][2];
      LoadTransposed16(rows + 16 + 16 * part, stride, pairs);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const __m256i nibbles = pairs[j][half];
          Store(block.values[first + j], half, _mm256_and_si256(nibbles, low4));
          Store(block.values[first + 8 + j], half, _mm256_and_si256(_mm256_srli_epi16(nibbles, 4), low4));
        }
      }
    }
  }
}

void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  const __m256i low4 = _mm256_set1_epi8(15), bit4 = _mm256_set1_epi8(16);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ5Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    UnpackHeader(rows, stride, block);
    for (int column = 0; column < 2; ++column) {  // 16 bytes of fifth bits serve half of every group
      __m256i fifth[4][2];
      LoadTransposed16(rows + 16 + 16 * column, stride, fifth);
      for (int pair = 0; pair < 4; ++pair) {
        next = Prefetch<kPanelRows * kQ5Bytes / 8>(next);
        __m256i nibbles[4][2];
        LoadTransposed16(rows + 48 + 32 * pair + 16 * column, stride, nibbles);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 2
          for (int half = 0; half < 2; ++half) {
            const __m256i v = nibbles[j][half];
            const __m256i low_bit = _mm256_and_si256(_mm256_slli_epi16(fifth[j][half], 4), bit4);
            const __m256i high_bit = _mm256_and_si256(_mm256_slli_epi16(fifth[j][half], 3), bit4);
            const int c = 16 * pair + 4 * column + j;
            Store(block.values[c], half, _mm256_or_si256(_mm256_and_si256(v, low4), low_bit));
            Store(block.values[c + 8], half,
                  _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(v, 4), low4), high_bit));
            fifth[j][half] = _mm256_srli_epi16(fifth[j][half], 2);  // for the next pair of groups
          }
        }
      }
    }
  }
}

void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  const __m256i low4 = _mm256_set1_epi8(15), bits45 = _mm256_set1_epi8(48);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ6Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    alignas(32) uint32_t d[kPanelRows];
    for (size_t r = 0; r < kPanelRows; ++r) {
      d[r] = 0;
      __builtin_memcpy(&d[r], rows + 208 + r * stride, 2);
    }
    UnpackQ6Scales(rows + 192, stride, block);
    for (int part = 0; part < 4; ++part) {  // 16 of the 32 columns of a half of 128 elements
      next = Prefetch<kPanelRows * kQ6Bytes / 4>(next);
      const int begin = part / 2, column = part % 2;
      __m256i high[4][2], first[4][2], second[4][2];
      LoadTransposed16(rows + 128 + 32 * begin + 16 * column, stride, high);
      LoadTransposed16(rows + 64 * begin + 16 * column, stride, first);
      LoadTransposed16(rows + 64 * begin + 32 + 16 * column, stride, second);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        for (int half = 0; half < 2; ++half) {
          const int c = 32 * begin + 4 * column + j;
          const __m256i h = high[j][half], v0 = first[j][half], v1 = second[j][half];
          const __m256i h0 = _mm256_and_si256(_mm256_slli_epi16(h, 4), bits45);
          const __m256i h1 = _mm256_and_si256(_mm256_slli_epi16(h, 2), bits45);
          const __m256i h2 = _mm256_and_si256(h, bits45);
          const __m256i h3 = _mm256_and_si256(_mm256_srli_epi16(h, 2), bits45);
          Store(block.values[c], half, _mm256_or_si256(_mm256_and_si256(v0, low4), h0));
          Store(block.values[c + 8], half, _mm256_or_si256(_mm256_and_si256(v1, low4), h1));
          Store(block.values[c + 16], half, _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(v0, 4), low4), h2));
          Store(block.values[c + 24], half, _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(v1, 4), low4), h3));
        }
      }
    }
    _mm256_store_ps(block.scale, LowHalves(Load(d, 0)));
    _mm256_store_ps(block.scale + 8, LowHalves(Load(d, 1)));
  }
}

}  // namespace inferd::kernels::avx2
