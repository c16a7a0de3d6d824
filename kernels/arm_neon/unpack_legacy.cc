// Panels of the types with a float scale for each 32 elements.
#include "kernels/arm_neon/formats.h"
#include "kernels/arm_neon/transpose.h"
#include "kernels/reference/unpack.h"

#define INFERD_INLINE inline __attribute__((always_inline))

namespace inferd::kernels::neon {
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

// 16 where bit 4c + i of the lane's word is set, in byte i of the lane
INFERD_INLINE uint8x16_t FifthBits(uint8x16_t words, int c) {
  static constexpr uint8_t kLaneBegins[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  const uint8x16_t spread = vqtbl1q_u8(words, vaddq_u8(vld1q_u8(kLaneBegins), vdupq_n_u8(static_cast<uint8_t>(c / 2))));
  const uint8x16_t bits = vreinterpretq_u8_u32(vdupq_n_u32(c % 2 == 0 ? 0x08040201u : 0x80402010u));
  return vandq_u8(vtstq_u8(spread, bits), vdupq_n_u8(16));
}

template <Layout kLayout>
INFERD_INLINE void StoreNibbles(const uint8x16_t (&pairs)[4][4], const uint8x16_t (&fifth)[4], uint8x16_t table,
                                PanelBlock32& block) {
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      uint8x16_t low = vqtbl1q_u8(table, vandq_u8(pairs[c][q], vdupq_n_u8(15)));
      uint8x16_t high = vqtbl1q_u8(table, vshrq_n_u8(pairs[c][q], 4));
      if constexpr (kLayout.fifth_bits != 0) {
        low = vaddq_u8(low, FifthBits(fifth[q], c));
        high = vaddq_u8(high, FifthBits(fifth[q], c + 4));
      }
      vst1q_u8(block.values[c][4 * q], low);
      vst1q_u8(block.values[c + 4][4 * q], high);
    }
  }
}

INFERD_INLINE void StoreBytes(const uint8x16_t (&bytes)[4][4], int first, PanelBlock32& block) {
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) vst1q_u8(block.values[first + c][4 * q], bytes[c][q]);
  }
}

template <Layout kLayout>
void Unpack(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, const int8_t* values,
            void* panel) {
  const uint8x16_t table = vreinterpretq_u8_s8(vld1q_s8(values));
  for (int64_t b = 0; b < blocks; ++b, rows += kLayout.bytes) {
    next = Prefetch<kPanelRows * kLayout.bytes>(next);
    PanelBlock32& block = static_cast<PanelBlock32*>(panel)[b];
    uint8x16_t bytes[4][4], header[4], fifth[4] = {};
    LoadDwords(rows, stride, header);
    if constexpr (kLayout.fifth_bits != 0) LoadDwords(rows + kLayout.fifth_bits, stride, fifth);
    for (int q = 0; q < 4; ++q) {
      vst1q_f32(block.scale + 4 * q, LowHalves(header[q]));
      if constexpr (kLayout.added) vst1q_f32(block.second + 4 * q, HighHalves(header[q]));
    }
    LoadTransposed16(rows + kLayout.values, stride, bytes);
    if constexpr (kLayout.bytes == kQ8_0.bytes) {
      StoreBytes(bytes, 0, block);
      LoadTransposed16(rows + kLayout.values + 16, stride, bytes);
      StoreBytes(bytes, 4, block);
    } else {
      StoreNibbles<kLayout>(bytes, fifth, table, block);
    }
  }
}

constexpr int8_t kNibbles[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr int8_t kNibblesLess8[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
constexpr int8_t kNibblesLess16[16] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1};

}  // namespace

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_0>(rows, stride, blocks, next, kNibblesLess8, panel);
}
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ4_1>(rows, stride, blocks, next, kNibbles, panel);
}
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack<kQ5_0>(rows, stride, blocks, next, kNibblesLess16, panel);
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

}  // namespace inferd::kernels::neon
