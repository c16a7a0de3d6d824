// Bytes of 16 rows at a time, and their transposition to rows in lanes.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace inferd::kernels::neon {

// out[j][q] lane r = dword j of the 16 bytes at rows + (4 * q + r) * stride.
static inline __attribute__((always_inline)) void LoadTransposed16(const uint8_t* rows, size_t stride,
                                                                   uint8x16_t (&out)[4][4]) {
#pragma GCC unroll 4
  for (size_t q = 0; q < 4; ++q, rows += 4 * stride) {
    const uint32x4_t r0 = vreinterpretq_u32_u8(vld1q_u8(rows));
    const uint32x4_t r1 = vreinterpretq_u32_u8(vld1q_u8(rows + stride));
    const uint32x4_t r2 = vreinterpretq_u32_u8(vld1q_u8(rows + 2 * stride));
    const uint32x4_t r3 = vreinterpretq_u32_u8(vld1q_u8(rows + 3 * stride));
    const uint64x2_t even01 = vreinterpretq_u64_u32(vtrn1q_u32(r0, r1)),
                     odd01 = vreinterpretq_u64_u32(vtrn2q_u32(r0, r1));
    const uint64x2_t even23 = vreinterpretq_u64_u32(vtrn1q_u32(r2, r3)),
                     odd23 = vreinterpretq_u64_u32(vtrn2q_u32(r2, r3));
    out[0][q] = vreinterpretq_u8_u64(vtrn1q_u64(even01, even23));
    out[1][q] = vreinterpretq_u8_u64(vtrn1q_u64(odd01, odd23));
    out[2][q] = vreinterpretq_u8_u64(vtrn2q_u64(even01, even23));
    out[3][q] = vreinterpretq_u8_u64(vtrn2q_u64(odd01, odd23));
  }
}

// f32 of the halves in the low and in the high words of the lanes
static inline __attribute__((always_inline)) float32x4_t LowHalves(uint8x16_t v) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(vreinterpretq_u32_u8(v))));
}
static inline __attribute__((always_inline)) float32x4_t HighHalves(uint8x16_t v) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(vreinterpretq_u32_u8(v), 16)));
}

// The four bytes at rows + r * stride, in lane r % 4 of out[r / 4].
static inline __attribute__((always_inline)) void LoadDwords(const uint8_t* rows, size_t stride, uint8x16_t (&out)[4]) {
  uint32_t dwords[16];
  for (size_t r = 0; r < 16; ++r) __builtin_memcpy(&dwords[r], rows + r * stride, 4);
  for (size_t q = 0; q < 4; ++q) out[q] = vreinterpretq_u8_u32(vld1q_u32(dwords + 4 * q));
}

// Asks for the next kBytes bytes from p on; returns what follows them.
template <size_t kBytes>
static inline __attribute__((always_inline)) const uint8_t* Prefetch(const uint8_t* p) {
#pragma GCC unroll 32
  for (size_t i = 0; i < kBytes; i += 64) __builtin_prefetch(p + i);
  return p + kBytes;
}

}  // namespace inferd::kernels::neon
