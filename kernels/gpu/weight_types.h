// Quantized types as products on GPUs read them: four neighbouring integers of a block at once, and its scales. The
// layouts are those of reference/unpack_legacy.cc and unpack_k.cc, the meaning of each part integer_block.h's.
//
//   uint32_t four = TypeQ4_K::Word(block, 5);         // elements 20..23, int8 each
//   int scale = TypeQ4_K::GroupScale(block, 1);       // of elements 16..31
//
// A type says kType, kProduct, kElements, kBytes and Word; kScale32... also Scale and, if Added, Added; kSuper... also
// Scale, GroupScale, kScaleElements (how many share one) and, with minimums, Minimum and GroupMinimum.
#pragma once

#include "kernels/gpu/gpu.h"
#include "kernels/quant_types.h"
#include "kernels/reference/integer_block.h"

namespace inferd::kernels::gpu {

using Product = reference::ProductKind;

// Blocks of a file lie at any even address, those of an odd size at any.
GPU_DEVICE uint32_t Load16(const uint8_t* p) { return p[0] | static_cast<uint32_t>(p[1]) << 8; }
GPU_DEVICE uint32_t Load32(const uint8_t* p) { return Load16(p) | Load16(p + 2) << 16; }
GPU_DEVICE float LoadHalf(const uint8_t* p) { return HalfToFloat(static_cast<uint16_t>(Load16(p))); }

// Each byte, 0..127, less `bias`: the highest bit takes the borrow of its own byte.
GPU_DEVICE uint32_t SubtractBytes(uint32_t bytes, uint32_t bias) {
  return ((bytes | 0x80808080u) - bias * 0x01010101u) ^ 0x80808080u;
}
GPU_DEVICE uint32_t Nibbles(uint32_t bytes, bool high) { return (high ? bytes >> 4 : bytes) & 0x0F0F0F0Fu; }
GPU_DEVICE uint32_t BitPairs(uint32_t bytes, int shift) { return bytes >> shift & 0x03030303u; }
// Bit i of four to the lowest bit of byte i.
GPU_DEVICE uint32_t SpreadBits(uint32_t four) { return (four & 15) * 0x00204081u & 0x01010101u; }

struct TypeQ4_0 {
  static constexpr TensorType kType = TensorType::kQ4_0;
  static constexpr Product kProduct = Product::kScale32;
  static constexpr int kElements = 32, kBytes = 18;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return SubtractBytes(Nibbles(Load32(b + 2 + w % 4 * 4), w >= 4), 8);
  }
};

struct TypeQ4_1 {
  static constexpr TensorType kType = TensorType::kQ4_1;
  static constexpr Product kProduct = Product::kScale32Added;
  static constexpr int kElements = 32, kBytes = 20;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE float Added(const uint8_t* b) { return LoadHalf(b + 2); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) { return Nibbles(Load32(b + 4 + w % 4 * 4), w >= 4); }
};

struct TypeQ5_0 {
  static constexpr TensorType kType = TensorType::kQ5_0;
  static constexpr Product kProduct = Product::kScale32;
  static constexpr int kElements = 32, kBytes = 22;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    const uint32_t fifth = SpreadBits(Load32(b + 2) >> 4 * w) << 4;
    return SubtractBytes(Nibbles(Load32(b + 6 + w % 4 * 4), w >= 4) | fifth, 16);
  }
};

struct TypeQ5_1 {
  static constexpr TensorType kType = TensorType::kQ5_1;
  static constexpr Product kProduct = Product::kScale32Added;
  static constexpr int kElements = 32, kBytes = 24;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE float Added(const uint8_t* b) { return LoadHalf(b + 2); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return Nibbles(Load32(b + 8 + w % 4 * 4), w >= 4) | SpreadBits(Load32(b + 4) >> 4 * w) << 4;
  }
};

struct TypeQ8_0 {
  static constexpr TensorType kType = TensorType::kQ8_0;
  static constexpr Product kProduct = Product::kScale32;
  static constexpr int kElements = 32, kBytes = 34;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) { return Load32(b + 2 + 4 * w); }
};

// Six-bit scales and minimums of 32 elements each, eight pairs in 12 bytes.
GPU_DEVICE int SixBitScale(const uint8_t* s, int pair) {
  return pair < 4 ? s[pair] & 63 : (s[pair + 4] & 15) | (s[pair - 4] >> 6) << 4;
}
GPU_DEVICE int SixBitMinimum(const uint8_t* s, int pair) {
  return pair < 4 ? s[pair + 4] & 63 : s[pair + 4] >> 4 | (s[pair] >> 6) << 4;
}

struct TypeQ2_K {
  static constexpr TensorType kType = TensorType::kQ2_K;
  static constexpr Product kProduct = Product::kSuperMinimum;
  static constexpr int kElements = 256, kBytes = 84, kScaleElements = 16;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b + 80); }
  static GPU_DEVICE float Minimum(const uint8_t* b) { return LoadHalf(b + 82); }
  static GPU_DEVICE int GroupScale(const uint8_t* b, int j) { return b[j] & 15; }
  static GPU_DEVICE int GroupMinimum(const uint8_t* b, int j) { return b[j] >> 4; }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return BitPairs(Load32(b + 16 + w / 32 * 32 + w % 8 * 4), w / 8 % 4 * 2);
  }
};

struct TypeQ3_K {
  static constexpr TensorType kType = TensorType::kQ3_K;
  static constexpr Product kProduct = Product::kSuper;
  static constexpr int kElements = 256, kBytes = 110, kScaleElements = 16;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b + 108); }
  static GPU_DEVICE int GroupScale(const uint8_t* b, int j) {
    const uint8_t* const scales = b + 96;
    const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
    return (low | (scales[8 + j % 4] >> (j / 4 * 2) & 3) << 4) - 32;
  }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    const uint32_t low = BitPairs(Load32(b + 32 + w / 32 * 32 + w % 8 * 4), w / 8 % 4 * 2);
    const uint32_t third = Load32(b + w % 8 * 4) >> (w / 8) & 0x01010101u;
    return SubtractBytes(low | third << 2, 4);
  }
};

// What Q4_K and Q5_K begin with: scale and minimum of the block, then those of its groups.
struct SixBitBlock {
  static constexpr Product kProduct = Product::kSuperMinimum;
  static constexpr int kElements = 256, kScaleElements = 32;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b); }
  static GPU_DEVICE float Minimum(const uint8_t* b) { return LoadHalf(b + 2); }
  static GPU_DEVICE int GroupScale(const uint8_t* b, int j) { return SixBitScale(b + 4, j / 2); }
  static GPU_DEVICE int GroupMinimum(const uint8_t* b, int j) { return SixBitMinimum(b + 4, j / 2); }
};

struct TypeQ4_K : SixBitBlock {
  static constexpr TensorType kType = TensorType::kQ4_K;
  static constexpr int kBytes = 144;
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    return Nibbles(Load32(b + 16 + w / 16 * 32 + w % 8 * 4), w / 8 % 2 != 0);
  }
};

struct TypeQ5_K : SixBitBlock {
  static constexpr TensorType kType = TensorType::kQ5_K;
  static constexpr int kBytes = 176;
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    const uint32_t fifth = Load32(b + 16 + w % 8 * 4) >> (w / 8) & 0x01010101u;
    return Nibbles(Load32(b + 48 + w / 16 * 32 + w % 8 * 4), w / 8 % 2 != 0) | fifth << 4;
  }
};

struct TypeQ6_K {
  static constexpr TensorType kType = TensorType::kQ6_K;
  static constexpr Product kProduct = Product::kSuper;
  static constexpr int kElements = 256, kBytes = 210, kScaleElements = 16;
  static GPU_DEVICE float Scale(const uint8_t* b) { return LoadHalf(b + 208); }
  static GPU_DEVICE int GroupScale(const uint8_t* b, int j) { return static_cast<int8_t>(b[192 + j]); }
  static GPU_DEVICE uint32_t Word(const uint8_t* b, int w) {
    const int half = w / 32, in_half = w % 32;
    const uint32_t low = Nibbles(Load32(b + 64 * half + in_half % 16 * 4), in_half >= 16);
    const uint32_t high = BitPairs(Load32(b + 128 + 32 * half + w % 8 * 4), in_half / 8 * 2);
    return SubtractBytes(low | high << 4, 32);
  }
};

}  // namespace inferd::kernels::gpu
