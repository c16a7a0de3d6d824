// Types whose integers are not plain bit fields: looked up by nibbles, or ternary digits. As weight_types.h.
//
//   uint32_t four = TypeIQ4_NL::Word(block, 5);   // elements 20..23, int8 each
#pragma once

#include "kernels/gpu/weight_types.h"
#include "kernels/reference/unpack.h"

namespace inferd::kernels::gpu {

// The values of a table that nibbles stand for, in a register: no memory is read.
struct NibbleTable {
  uint64_t low, high;  // of nibbles 0..7 and 8..15, a byte each
};
constexpr NibbleTable TableOf(const int8_t (&values)[16]) {
  NibbleTable table{0, 0};
  for (int i = 0; i < 8; ++i) {
    table.low |= static_cast<uint64_t>(static_cast<uint8_t>(values[i])) << 8 * i;
    table.high |= static_cast<uint64_t>(static_cast<uint8_t>(values[i + 8])) << 8 * i;
  }
  return table;
}
template <const int8_t (&kValues)[16]>
GPU_DEVICE uint32_t ValuesOfNibbles(uint32_t nibbles) {
  constexpr NibbleTable kTable = TableOf(kValues);
  uint32_t word = 0;
  GPU_UNROLL
  for (int shift = 0; shift < 32; shift += 8) {
    const uint32_t nibble = nibbles >> shift & 15;
    word |= static_cast<uint32_t>((nibble < 8 ? kTable.low : kTable.high) >> (nibble & 7) * 8 & 0xFF) << shift;
  }
  return word;
}

struct TypeIQ4_NL {
  static constexpr TensorType kType = TensorType::kIQ4_NL;
  static constexpr Product kProduct = Product::kScale32;
  static constexpr int kElements = 32, kBytes = 18;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return ValuesOfNibbles<reference::kIq4Values>(Nibbles(Load32(b + 2 + w % 4 * 4), w >= 4));
  }
};

struct TypeMXFP4 {
  static constexpr TensorType kType = TensorType::kMXFP4;
  static constexpr Product kProduct = Product::kScale32;
  static constexpr int kElements = 32, kBytes = 17;
  // 2^(byte - 128): halved, because the values are doubled; subnormal for 0 and 1.
  static GPU_DEVICE float Scale(const uint8_t* b) {
    const uint32_t exponent = b[0];
    return FloatOfBits(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
  }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return ValuesOfNibbles<reference::kMxfp4Values>(Nibbles(Load32(b + 1 + w % 4 * 4), w >= 4));
  }
};

struct TypeIQ4_XS {
  static constexpr TensorType kType = TensorType::kIQ4_XS;
  static constexpr Product kProduct = Product::kSuper;
  static constexpr int kElements = 256, kBytes = 136, kScaleElements = 32;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE int GroupScale(const uint8_t* b, int j) {
    const int group = j / 2, low = b[4 + group / 2] >> (group % 2 * 4) & 15;
    return (low | static_cast<int>(Load16(b + 2) >> (2 * group) & 3) << 4) - 32;
  }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return ValuesOfNibbles<reference::kIq4Values>(Nibbles(Load32(b + 8 + w / 8 * 16 + w % 4 * 4), w % 8 >= 4));
  }
};

struct TypeTQ1_0 {
  static constexpr TensorType kType = TensorType::kTQ1_0;
  static constexpr Product kProduct = Product::kSuper;
  static constexpr int kElements = 256, kBytes = 54, kScaleElements = 32;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b + 52); }
  static GPU_DEVICE int GroupScale(const uint8_t*, int) { return 1; }
  // Five digits a byte: of 32 bytes, then of 16, then four digits of 4 bytes.
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    const int first = w < 40 ? w % 8 : w < 60 ? 8 + w % 4 : 12;
    const int position = w < 40 ? w / 8 : w < 60 ? (w - 40) / 4 : w - 60;
    uint32_t power = 1;
    for (int i = 0; i < position; ++i) power *= 3;
    uint32_t word = 0;
    GPU_UNROLL
    for (int i = 0; i < 4; ++i) word |= ((b[4 * first + i] * power & 0xFF) * 3 >> 8) << 8 * i;
    return SubtractBytes(word, 1);
  }
};

struct TypeTQ2_0 {
  static constexpr TensorType kType = TensorType::kTQ2_0;
  static constexpr Product kProduct = Product::kSuper;
  static constexpr int kElements = 256, kBytes = 66, kScaleElements = 32;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b + 64); }
  static GPU_DEVICE int GroupScale(const uint8_t*, int) { return 1; }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return SubtractBytes(BitPairs(Load32(b + w / 32 * 32 + w % 8 * 4), w / 8 % 4 * 2), 1);
  }
};

}  // namespace inferd::kernels::gpu
