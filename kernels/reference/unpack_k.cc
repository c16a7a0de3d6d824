// Types with blocks of 256 elements whose values are plain bit fields: Q2_K to Q6_K, IQ4_XS and the ternary TQ1_0,
// TQ2_0.
#include <algorithm>

#include "kernels/reference/bytes.h"
#include "kernels/reference/unpack.h"

namespace inferd::kernels::reference {
namespace {

// Eight pairs of six-bit scale and minimum in 12 bytes, as in Q4_K and Q5_K; each is for 32 elements.
void UnpackSixBitPairs(const uint8_t* s, IntegerBlock& block) {
  for (int j = 0; j < 8; ++j) {
    const int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
    const int minimum = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
    block.scales[2 * j] = block.scales[2 * j + 1] = static_cast<int16_t>(scale);
    block.minimums[2 * j] = block.minimums[2 * j + 1] = static_cast<int16_t>(minimum);
  }
}

// Each 32 bytes hold 64 elements: the low nibbles the first 32, the high nibbles the next.
void UnpackNibbles(const uint8_t* q, IntegerBlock& block) {
  for (int part = 0; part < 4; ++part) {
    int8_t* values = block.values + 64 * part;
    for (int i = 0; i < 32; ++i) values[i] = q[32 * part + i] & 15;
    for (int i = 0; i < 32; ++i) values[32 + i] = static_cast<int8_t>(q[32 * part + i] >> 4);
  }
}

// Each 32 bytes hold 128 elements: bits 0-1 the first 32, bits 2-3 the next, and so on.
void UnpackBitPairs(const uint8_t* q, int8_t* values) {
  for (int part = 0; part < 8; ++part) {
    const uint8_t* bytes = q + part / 4 * 32;
    const int shift = part % 4 * 2;
    for (int i = 0; i < 32; ++i) values[32 * part + i] = static_cast<int8_t>(bytes[i] >> shift & 3);
  }
}

// Adds `value` to the elements of each 32 whose bit is set: bit s of byte i belongs to element i of the s-th 32.
void AddWhereSet(const uint8_t* bits, int value, int8_t* values) {
  for (int part = 0; part < 8; ++part) {
    for (int i = 0; i < 32; ++i) {
      values[32 * part + i] = static_cast<int8_t>(values[32 * part + i] + (bits[i] >> part & 1) * value);
    }
  }
}

// The digit of each of n bytes at a position, `power` = 3^position, less 1.
void TernaryDigits(const uint8_t* bytes, int n, uint8_t power, int8_t* values) {
  for (int i = 0; i < n; ++i) {
    const uint8_t fraction = static_cast<uint8_t>(bytes[i] * power);
    values[i] = static_cast<int8_t>((fraction * 3 >> 8) - 1);
  }
}

void AddToAll(int value, int8_t* values) {
  for (int i = 0; i < 256; ++i) values[i] = static_cast<int8_t>(values[i] + value);
}

}  // namespace

// scales[16] (low nibble scale, high nibble minimum), pairs of bits[64], d, dmin
void UnpackQ2_K(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes + 80);
  block.minimum = LoadHalf(bytes + 82);
  for (int j = 0; j < 16; ++j) {
    block.scales[j] = bytes[j] & 15;
    block.minimums[j] = bytes[j] >> 4;
  }
  UnpackBitPairs(bytes + 16, block.values);
}

// third bits[32], pairs of bits[64], scales[12], d. The third bit is stored inverted: where it is 0, 4 is subtracted.
void UnpackQ3_K(const uint8_t* bytes, IntegerBlock& block) {
  const uint8_t* scales = bytes + 96;
  block.scale = LoadHalf(bytes + 108);
  for (int j = 0; j < 16; ++j) {
    const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
    const int high = scales[8 + j % 4] >> (j / 4 * 2) & 3;
    block.scales[j] = static_cast<int16_t>((low | high << 4) - 32);
  }
  UnpackBitPairs(bytes + 32, block.values);
  AddWhereSet(bytes, 4, block.values);
  AddToAll(-4, block.values);
}

// d, dmin, scales[12], nibbles[128]
void UnpackQ4_K(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes);
  block.minimum = LoadHalf(bytes + 2);
  UnpackSixBitPairs(bytes + 4, block);
  UnpackNibbles(bytes + 16, block);
}

// d, dmin, scales[12], fifth bits[32], nibbles[128]
void UnpackQ5_K(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes);
  block.minimum = LoadHalf(bytes + 2);
  UnpackSixBitPairs(bytes + 4, block);
  UnpackNibbles(bytes + 48, block);
  AddWhereSet(bytes + 16, 16, block.values);
}

// nibbles[128], high pairs of bits[64], scales[16], d. Each half of 128 elements: 64 bytes of nibbles, low ones first.
void UnpackQ6_K(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes + 208);
  for (int j = 0; j < 16; ++j) block.scales[j] = static_cast<int8_t>(bytes[192 + j]);
  for (int half = 0; half < 2; ++half) {
    int8_t* values = block.values + 128 * half;
    const uint8_t *low = bytes + 64 * half, *high = bytes + 128 + 32 * half;
    for (int i = 0; i < 64; ++i) values[i] = low[i] & 15;
    for (int i = 0; i < 64; ++i) values[64 + i] = static_cast<int8_t>(low[i] >> 4);
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 32; ++i) {
        values[32 * part + i] = static_cast<int8_t>((values[32 * part + i] | (high[i] >> (2 * part) & 3) << 4) - 32);
      }
    }
  }
}

// d, high pairs of scale bits (u16), low scale nibbles[4], nibbles[128]: each 16 bytes hold 32 elements
void UnpackIQ4_XS(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes);
  const uint32_t high_bits = Load16(bytes + 2);
  for (int j = 0; j < 16; ++j) {
    const int group = j / 2;
    const int low = bytes[4 + group / 2] >> (group % 2 * 4) & 15;
    block.scales[j] = static_cast<int16_t>((low | (high_bits >> (2 * group) & 3) << 4) - 32);
  }
  for (int i = 0; i < 128; ++i) {
    int8_t* values = block.values + i / 16 * 32 + i % 16;
    values[0] = kIq4Values[bytes[8 + i] & 15];
    values[16] = kIq4Values[bytes[8 + i] >> 4];
  }
}

// Five ternary digits a byte, most significant first, as a fraction of 256: digit = (byte * 3^position mod 256) * 3 /
// 256. 32 bytes hold elements 0..159 (position = i / 32), 16 bytes 160..239, 4 bytes of four digits 240..255; then d.
void UnpackTQ1_0(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes + 52);
  std::fill_n(block.scales, 16, int16_t{1});
  uint8_t power = 1;
  for (int position = 0; position < 5; ++position, power = static_cast<uint8_t>(power * 3)) {
    TernaryDigits(bytes, 32, power, block.values + 32 * position);
    TernaryDigits(bytes + 32, 16, power, block.values + 160 + 16 * position);
    if (position < 4) TernaryDigits(bytes + 48, 4, power, block.values + 240 + 4 * position);
  }
}

// pairs of bits[64], d
void UnpackTQ2_0(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes + 64);
  std::fill_n(block.scales, 16, int16_t{1});
  UnpackBitPairs(bytes, block.values);
  AddToAll(-1, block.values);
}

}  // namespace inferd::kernels::reference
