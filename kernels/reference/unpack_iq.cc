// Types whose values come from code books: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S. All have blocks of
// 256. Their scales are odd numbers of eighths (IQ2, IQ1), quarters (IQ3_XXS) or units (IQ3_S) of d; the power of two
// goes into `scale`, the odd number into `scales`.
#include "kernels/reference/bytes.h"
#include "kernels/reference/codebooks.h"
#include "kernels/reference/unpack.h"

namespace inferd::kernels::reference {
namespace {

struct SignTables {
  int8_t masks[256][8];     // -1 where the byte's bit is set
  uint8_t even_signs[128];  // seven sign bits, and an eighth that makes their number even
};

constexpr SignTables kSigns = [] {
  SignTables tables{};
  for (int byte = 0; byte < 256; ++byte) {
    int set = 0;
    for (int i = 0; i < 8; ++i) {
      tables.masks[byte][i] = static_cast<int8_t>(-(byte >> i & 1));
      set += byte >> i & 1;
    }
    if (byte < 128) tables.even_signs[byte] = static_cast<uint8_t>(byte | (set & 1) << 7);
  }
  return tables;
}();

// Eight values, negative where a sign bit is set.
void PutSigned(const int8_t* first_four, const int8_t* last_four, const int8_t (&masks)[8], int8_t* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<int8_t>((first_four[i] ^ masks[i]) - masks[i]);
  for (int i = 0; i < 4; ++i) out[4 + i] = static_cast<int8_t>((last_four[i] ^ masks[4 + i]) - masks[4 + i]);
}

// Eight values of IQ1, each shifted by one eighth.
void PutShifted(const int8_t* values, bool down, int8_t* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<int8_t>(values[i] + (down ? -1 : 1));
}

void SetOdd(int group, uint32_t scale, IntegerBlock& block) {
  block.scales[group] = static_cast<int16_t>(2 * scale + 1);
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
      const int8_t* values = kCodeBookIQ2_XXS.values[indices[j]];
      const uint8_t signs = kSigns.even_signs[word >> (7 * j) & 127];
      PutSigned(values, values + 4, kSigns.masks[signs], block.values + 32 * group + 8 * j);
    }
  }
}

// d, 32 u16 (grid index of 9 bits, 7 sign bits) for 8 elements each, scales[8]: a nibble for each 16 elements
void UnpackIQ2_XS(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int j = 0; j < 16; ++j) SetOdd(j, bytes[66 + j / 2] >> (j % 2 * 4) & 15, block);
  for (int j = 0; j < 32; ++j) {
    const uint32_t word = Load16(bytes + 2 + 2 * j);
    const int8_t* values = kCodeBookIQ2_XS.values[word & 511];
    PutSigned(values, values + 4, kSigns.masks[kSigns.even_signs[word >> 9]], block.values + 8 * j);
  }
}

// d, low bytes of 32 grid indices, 32 bytes of signs, 2 high bits of each index[8], scales[8] as above
void UnpackIQ2_S(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int j = 0; j < 16; ++j) SetOdd(j, bytes[74 + j / 2] >> (j % 2 * 4) & 15, block);
  for (int j = 0; j < 32; ++j) {
    const uint32_t high = bytes[66 + j / 4] >> (j % 4 * 2) & 3;
    const int8_t* values = kCodeBookIQ2_S.values[bytes[2 + j] | high << 8];
    PutSigned(values, values + 4, kSigns.masks[bytes[34 + j]], block.values + 8 * j);
  }
}

// d, 64 grid indices (u8) for 4 elements each, then for each 32 elements u32 of 4 x 7 sign bits and a scale of 4 bits
void UnpackIQ3_XXS(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.25f;
  for (int group = 0; group < 8; ++group) {
    const uint32_t word = Load32(bytes + 66 + 4 * group);
    SetOdd(2 * group, word >> 28, block);
    SetOdd(2 * group + 1, word >> 28, block);
    for (int j = 0; j < 4; ++j) {
      const uint8_t* indices = bytes + 2 + 8 * group + 2 * j;
      const uint8_t signs = kSigns.even_signs[word >> (7 * j) & 127];
      PutSigned(kCodeBookIQ3_XXS.values[indices[0]], kCodeBookIQ3_XXS.values[indices[1]], kSigns.masks[signs],
                block.values + 32 * group + 8 * j);
    }
  }
}

// d, low bytes of 64 grid indices, their ninth bits[8], 32 bytes of signs, scales[4]: a nibble for each 32 elements
void UnpackIQ3_S(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes);
  for (int j = 0; j < 16; ++j) SetOdd(j, bytes[106 + j / 4] >> (j / 2 % 2 * 4) & 15, block);
  for (int j = 0; j < 32; ++j) {
    const uint8_t* indices = bytes + 2 + 2 * j;
    const unsigned ninth = bytes[66 + j / 4] >> (j % 4 * 2);
    PutSigned(kCodeBookIQ3_S.values[indices[0] | (ninth & 1) << 8],
              kCodeBookIQ3_S.values[indices[1] | (ninth >> 1 & 1) << 8], kSigns.masks[bytes[74 + j]],
              block.values + 8 * j);
  }
}

// d, low bytes of 32 grid indices, then for each 32 elements u16: 4 x 3 high index bits, scale of 3 bits, sign of shift
void UnpackIQ1_S(const uint8_t* bytes, IntegerBlock& block) {
  block.scale = LoadHalf(bytes) * 0.125f;
  for (int j = 0; j < 32; ++j) {
    const uint32_t word = Load16(bytes + 34 + j / 4 * 2);
    SetOdd(j / 2, word >> 12 & 7, block);
    PutShifted(kCodeBookIQ1.values[bytes[2 + j] | (word >> (j % 4 * 3) & 7) << 8], word >> 15, block.values + 8 * j);
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
    PutShifted(kCodeBookIQ1.values[bytes[j] | (high & 7) << 8], high >> 3, block.values + 8 * j);
  }
}

}  // namespace inferd::kernels::reference
