// Panels of Q4_K, Q5_K and Q6_K.
#include "kernels/arm_neon/formats.h"
#include "kernels/arm_neon/transpose.h"

namespace inferd::kernels::neon {
namespace {

constexpr size_t kQ4Bytes = 144, kQ5Bytes = 176, kQ6Bytes = 210;

uint8x16_t Both(uint8x16_t v, int bits) { return vandq_u8(v, vdupq_n_u8(static_cast<uint8_t>(bits))); }

// Four groups' scales and minimums of four rows, a byte each, from group `first` on.
void StoreSixBits(uint8x16_t scales, uint8x16_t minimums, int first, int quarter, PanelBlock256& block) {
  uint8_t scale_bytes[16], minimum_bytes[16];
  vst1q_u8(scale_bytes, scales);
  vst1q_u8(minimum_bytes, minimums);
  for (int r = 0; r < 4; ++r) {
    for (int j = 0; j < 4; ++j) {
      block.scales[first + j][4 * quarter + r] = scale_bytes[4 * r + j];
      block.minimums[(first + j) / 2][4 * quarter + r][j % 2] = minimum_bytes[4 * r + j];
    }
  }
}

// d, dmin and the eight six-bit pairs of scale and minimum (reference/unpack_k.cc) of 16 rows.
void UnpackHeader(const uint8_t* rows, size_t stride, PanelBlock256& block) {
  uint8x16_t header[4][4];  // d and dmin, then 12 bytes s[0..11]
  LoadTransposed16(rows, stride, header);
  for (int q = 0; q < 4; ++q) {
    vst1q_f32(block.scale + 4 * q, LowHalves(header[0][q]));
    vst1q_f32(block.minimum + 4 * q, HighHalves(header[0][q]));
    const uint8x16_t s0 = header[1][q], s4 = header[2][q], s8 = header[3][q];
    StoreSixBits(Both(s0, 63), Both(s4, 63), 0, q, block);
    StoreSixBits(vorrq_u8(Both(s8, 15), Both(vshrq_n_u8(s0, 2), 48)),
                 vorrq_u8(vshrq_n_u8(s8, 4), Both(vshrq_n_u8(s4, 2), 48)), 4, q, block);
  }
}

}  // namespace

void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += kQ4Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    UnpackHeader(rows, stride, block);
    for (int part = 0; part < 8;
         ++part) {  // 16 bytes: half of a group of 32 in the low nibbles, of the next in the high
      next = Prefetch<kPanelRows * kQ4Bytes / 8>(next);
      const int first = part / 2 * 16 + part % 2 * 4;
      uint8x16_t pairs[4][4];
      LoadTransposed16(rows + 16 + 16 * part, stride, pairs);
      for (int j = 0; j < 4; ++j) {
        for (int q = 0; q < 4; ++q) {
          vst1q_u8(block.values[first + j][4 * q], Both(pairs[j][q], 15));
          vst1q_u8(block.values[first + 8 + j][4 * q], vshrq_n_u8(pairs[j][q], 4));
        }
      }
    }
  }
}

void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += kQ5Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    UnpackHeader(rows, stride, block);
    for (int column = 0; column < 2; ++column) {  // 16 bytes of fifth bits serve half of every group
      uint8x16_t fifth[4][4];
      LoadTransposed16(rows + 16 + 16 * column, stride, fifth);
      for (int pair = 0; pair < 4; ++pair) {
        next = Prefetch<kPanelRows * kQ5Bytes / 8>(next);
        uint8x16_t nibbles[4][4];
        LoadTransposed16(rows + 48 + 32 * pair + 16 * column, stride, nibbles);
        for (int j = 0; j < 4; ++j) {
          for (int q = 0; q < 4; ++q) {
            const uint8x16_t bits = fifth[j][q];
            const int c = 16 * pair + 4 * column + j;
            vst1q_u8(block.values[c][4 * q], vorrq_u8(Both(nibbles[j][q], 15), vshlq_n_u8(Both(bits, 1), 4)));
            vst1q_u8(block.values[c + 8][4 * q], vorrq_u8(vshrq_n_u8(nibbles[j][q], 4), vshlq_n_u8(Both(bits, 2), 3)));
            fifth[j][q] = vshrq_n_u8(bits, 2);  // for the next pair of groups
          }
        }
      }
    }
  }
}

void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  const uint8x16_t bias = vdupq_n_u8(32);
  for (int64_t b = 0; b < blocks; ++b, rows += kQ6Bytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    for (size_t r = 0; r < kPanelRows; ++r) {
      const uint8_t* tail = rows + r * stride + 192;  // 16 scales, d
      for (int j = 0; j < 16; ++j) block.scales[j][r] = static_cast<int8_t>(tail[j]);
      uint16_t d;
      __builtin_memcpy(&d, tail + 16, 2);
      block.scale[r] = vgetq_lane_f32(LowHalves(vreinterpretq_u8_u32(vdupq_n_u32(d))), 0);
    }
    for (int part = 0; part < 4; ++part) {  // 16 of the 32 columns of a half of 128 elements
      next = Prefetch<kPanelRows * kQ6Bytes / 4>(next);
      const int half = part / 2, column = part % 2;
      uint8x16_t high[4][4], first[4][4], second[4][4];
      LoadTransposed16(rows + 128 + 32 * half + 16 * column, stride, high);
      LoadTransposed16(rows + 64 * half + 16 * column, stride, first);
      LoadTransposed16(rows + 64 * half + 32 + 16 * column, stride, second);
      for (int j = 0; j < 4; ++j) {
        for (int q = 0; q < 4; ++q) {
          const int c = 32 * half + 4 * column + j;
          const uint8x16_t h = high[j][q], v0 = first[j][q], v1 = second[j][q];
          const uint8x16_t value0 = vorrq_u8(Both(v0, 15), Both(vshlq_n_u8(h, 4), 48));
          const uint8x16_t value1 = vorrq_u8(Both(v1, 15), Both(vshlq_n_u8(h, 2), 48));
          const uint8x16_t value2 = vorrq_u8(vshrq_n_u8(v0, 4), Both(h, 48));
          const uint8x16_t value3 = vorrq_u8(vshrq_n_u8(v1, 4), Both(vshrq_n_u8(h, 2), 48));
          vst1q_u8(block.values[c][4 * q], vsubq_u8(value0, bias));
          vst1q_u8(block.values[c + 8][4 * q], vsubq_u8(value1, bias));
          vst1q_u8(block.values[c + 16][4 * q], vsubq_u8(value2, bias));
          vst1q_u8(block.values[c + 24][4 * q], vsubq_u8(value3, bias));
        }
      }
    }
  }
}

}  // namespace inferd::kernels::neon
