// Types whose values come from code books: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S. All have blocks of
// 256. Their scales are odd numbers of eighths (IQ2, IQ1), quarters (IQ3_XXS) or units (IQ3_S) of d; the power of two
// goes into `scale`, the odd number into `scales`.
#include <bit>

#include "kernels/reference/bytes.h"
#include "kernels/reference/codebooks.h"
#include "kernels/reference/unpack.h"

namespace inferd::kernels::reference {
namespace {

// Seven sign bits; the eighth makes their number even.
uint32_t EvenSigns(uint32_t seven) { return seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7; }

int8_t Signed(int value, uint32_t signs, int bit) { return static_cast<int8_t>(signs >> bit & 1 ? -value : value); }

void SetOdd(int group, uint32_t scale, IntegerBlock& block) {
  block.scales[group] = static_cast<int16_t>(2 * scale + 1);
}

void Values2(uint16_t entry, uint32_t signs, int8_t* out) {
  for (int i = 0; i < 8; ++i) out[i] = Signed(kValuesIQ2[entry >> (2 * i) & 3], signs, i);
}

// Eight elements of IQ1: eight times a ternary value and a shift of one eighth.
void Values1(uint16_t entry, bool shift_down, int8_t* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<int8_t>(8 * ((entry >> (2 * i) & 3) - 1) + (shift_down ? -1 : 1));
}

}  // namespace

// d, then for each 32 elements: 4 grid indices (u8), u32 of 4 x 7 sign bits and a scale of 4 bits
void UnpackIQ2_XXS(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int group = 0; group < 8; ++group) {
    const uint8_t* indices = bytes + 2 + 8 * group;
    const uint32_t word = Load32(indices + 4);
    SetOdd(2 * group, word >> 28, block);
    SetOdd(2 * group + 1, word >> 28, block);
    for (int j = 0; j < 4; ++j) {
      Values2(kGridIQ2_XXS[indices[j]], EvenSigns(word >> (7 * j) & 127), block.values + 32 * group + 8 * j);
    }
  }
}

// d, 32 u16 (grid index of 9 bits, 7 sign bits) for 8 elements each, scales[8]: a nibble for each 16 elements
void UnpackIQ2_XS(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int j = 0; j < 16; ++j) SetOdd(j, bytes[66 + j / 2] >> (j % 2 * 4) & 15, block);
  for (int j = 0; j < 32; ++j) {
    const uint32_t word = Load16(bytes + 2 + 2 * j);
    Values2(kGridIQ2_XS[word & 511], EvenSigns(word >> 9), block.values + 8 * j);
  }
}

// d, low bytes of 32 grid indices, 32 bytes of signs, 2 high bits of each index[8], scales[8] as above
void UnpackIQ2_S(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int j = 0; j < 16; ++j) SetOdd(j, bytes[74 + j / 2] >> (j % 2 * 4) & 15, block);
  for (int j = 0; j < 32; ++j) {
    const uint32_t high = bytes[66 + j / 4] >> (j % 4 * 2) & 3;
    Values2(kGridIQ2_S[bytes[2 + j] | high << 8], bytes[34 + j], block.values + 8 * j);
  }
}

// d, 64 grid indices (u8) for 4 elements each, then for each 32 elements u32 of 4 x 7 sign bits and a scale of 4 bits
void UnpackIQ3_XXS(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.25f;
  for (int group = 0; group < 8; ++group) {
    const uint32_t word = Load32(bytes + 66 + 4 * group);
    SetOdd(2 * group, word >> 28, block);
    SetOdd(2 * group + 1, word >> 28, block);
    for (int i = 0; i < 32; ++i) {
      const uint32_t signs = EvenSigns(word >> (i / 8 * 7) & 127);
      const uint16_t entry = kGridIQ3_XXS[bytes[2 + 8 * group + i / 4]];
      block.values[32 * group + i] = Signed(kValuesIQ3_XXS[entry >> (i % 4 * 3) & 7], signs, i % 8);
    }
  }
}

// d, low bytes of 64 grid indices, their ninth bits[8], 32 bytes of signs, scales[4]: a nibble for each 32 elements
void UnpackIQ3_S(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes);
  for (int j = 0; j < 16; ++j) SetOdd(j, bytes[106 + j / 4] >> (j / 2 % 2 * 4) & 15, block);
  for (int i = 0; i < 256; ++i) {
    const int j = i / 4;
    const uint32_t ninth = bytes[66 + j / 8] >> (j % 8) & 1;
    const uint16_t entry = kGridIQ3_S[bytes[2 + j] | ninth << 8];
    block.values[i] = Signed(2 * (entry >> (i % 4 * 3) & 7) + 1, bytes[74 + i / 8], i % 8);
  }
}

// d, low bytes of 32 grid indices, then for each 32 elements u16: 4 x 3 high index bits, scale of 3 bits, sign of shift
void UnpackIQ1_S(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int j = 0; j < 32; ++j) {
    const uint32_t word = Load16(bytes + 34 + j / 4 * 2);
    SetOdd(j / 2, word >> 12 & 7, block);
    Values1(kGridIQ1_S[bytes[2 + j] | (word >> (j % 4 * 3) & 7) << 8], word >> 15, block.values + 8 * j);
  }
}

// low bytes of 32 grid indices, a nibble for each (3 high bits, sign of shift)[16], 4 u16: 4 x 3 bits of scales for 16
// elements each, and a quarter of d in the highest nibble
void UnpackIQ1_M(const uint8_t* bytes, IntegerBlock& block) {
  uint32_t d = 0;
  for (int j = 0; j < 4; ++j) d |= (Load16(bytes + 48 + 2 * j) >> 12 & 15u) << (4 * j);
  block.scale = FloatFromHalf(static_cast<uint16_t>(d)) * 0.125f;
  for (int j = 0; j < 16; ++j) SetOdd(j, Load16(bytes + 48 + j / 4 * 2) >> (j % 4 * 3) & 7, block);
  for (int j = 0; j < 32; ++j) {
    const uint32_t high = bytes[32 + j / 2] >> (j % 2 * 4) & 15;
    Values1(kGridIQ1_S[bytes[j] | (high & 7) << 8], high >> 3, block.values + 8 * j);
  }
}

}  // namespace inferd::kernels::reference
