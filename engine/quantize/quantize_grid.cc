// Types whose values come from code books: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S. All have blocks of
// 256.
#include <cstring>

#include "engine/quantize/block_quantizers.h"
#include "engine/quantize/grid_block.h"
#include "engine/quantize/half_scale.h"

namespace inferd::quantize {
namespace {

void Put32(uint32_t value, uint8_t* out) {
  Put16(value & 0xFFFF, out);
  Put16(value >> 16, out + 2);
}

// Four times seven sign bits (the eighth follows from their parity) and the multiple of 32 values.
uint32_t SignsAndScale(const GridBlock& fit, int group) {
  uint32_t word = static_cast<uint32_t>(fit.scales[static_cast<size_t>(group)]) << 28;
  for (int j = 0; j < 4; ++j) word |= (fit.signs[static_cast<size_t>(4 * group + j)] & 127u) << (7 * j);
  return word;
}

uint32_t Index(const GridBlock& fit, int i) { return static_cast<uint32_t>(fit.indices[static_cast<size_t>(i)]); }
int Scale(const GridBlock& fit, int group) { return fit.scales[static_cast<size_t>(group)]; }

// A nibble for each of n groups, the even ones low.
void PutScaleNibbles(const GridBlock& fit, int groups, uint8_t* out) {
  for (int j = 0; j < groups; j += 2) {
    out[j / 2] = static_cast<uint8_t>(Scale(fit, j) | Scale(fit, j + 1) << 4);
  }
}

constexpr float kFirst = 0.5f, kLast = 1.15f;
constexpr size_t kTrials = 8, kIQ1Trials = 6;

}  // namespace

void QuantizeIQ2_XXS(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ2_XXS(), nullptr}, Signs::kEven, 32, 15, 0.125f, kTrials, kFirst, kLast}, x, w, fit);
  PutHalf(fit.scale, block);
  for (int group = 0; group < 8; ++group) {
    uint8_t* out = block + 2 + 8 * group;
    for (int j = 0; j < 4; ++j) out[j] = static_cast<uint8_t>(Index(fit, 4 * group + j));
    Put32(SignsAndScale(fit, group), out + 4);
  }
}

void QuantizeIQ2_XS(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ2_XS(), nullptr}, Signs::kEven, 16, 15, 0.125f, kTrials, kFirst, kLast}, x, w, fit);
  PutHalf(fit.scale, block);
  for (int j = 0; j < 32; ++j) {
    Put16(Index(fit, j) | (fit.signs[static_cast<size_t>(j)] & 127u) << 9, block + 2 + 2 * j);
  }
  PutScaleNibbles(fit, 16, block + 66);
}

void QuantizeIQ2_S(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ2_S(), nullptr}, Signs::kFree, 16, 15, 0.125f, kTrials, kFirst, kLast}, x, w, fit);
  std::memset(block, 0, 82);
  PutHalf(fit.scale, block);
  for (int j = 0; j < 32; ++j) {
    block[2 + j] = static_cast<uint8_t>(Index(fit, j));
    block[34 + j] = fit.signs[static_cast<size_t>(j)];
    block[66 + j / 4] |= static_cast<uint8_t>(Index(fit, j) >> 8 << (j % 4 * 2));
  }
  PutScaleNibbles(fit, 16, block + 74);
}

void QuantizeIQ3_XXS(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ3_XXS(), nullptr}, Signs::kEven, 32, 15, 0.25f, kTrials, kFirst, kLast}, x, w, fit);
  PutHalf(fit.scale, block);
  for (int j = 0; j < 64; ++j) block[2 + j] = static_cast<uint8_t>(Index(fit, j));
  for (int group = 0; group < 8; ++group) Put32(SignsAndScale(fit, group), block + 66 + 4 * group);
}

void QuantizeIQ3_S(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ3_S(), nullptr}, Signs::kFree, 32, 15, 1.0f, kTrials, kFirst, kLast}, x, w, fit);
  std::memset(block, 0, 110);
  PutHalf(fit.scale, block);
  for (int j = 0; j < 64; ++j) {
    block[2 + j] = static_cast<uint8_t>(Index(fit, j));
    block[66 + j / 8] |= static_cast<uint8_t>(Index(fit, j) >> 8 << (j % 8));
  }
  std::memcpy(block + 74, fit.signs.data(), 32);
  PutScaleNibbles(fit, 8, block + 106);
}

void QuantizeIQ1_S(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ1Up(), &GridIQ1Down()}, Signs::kOfValues, 32, 7, 0.125f, kIQ1Trials, 0.25f, 1.0f}, x, w, fit);
  PutHalf(fit.scale, block);
  for (int group = 0; group < 8; ++group) {
    uint32_t word = static_cast<uint32_t>(Scale(fit, group)) << 12;
    word |= static_cast<uint32_t>(fit.grids[static_cast<size_t>(group)]) << 15;
    for (int j = 0; j < 4; ++j) {
      block[2 + 4 * group + j] = static_cast<uint8_t>(Index(fit, 4 * group + j));
      word |= Index(fit, 4 * group + j) >> 8 << (3 * j);
    }
    Put16(word, block + 34 + 2 * group);
  }
}

void QuantizeIQ1_M(const float* x, const float* w, uint8_t* block) {
  GridBlock fit;
  FitGridBlock({{&GridIQ1Either(), nullptr}, Signs::kOfValues, 16, 7, 0.125f, kIQ1Trials, 0.25f, 1.0f}, x, w, fit);
  std::memset(block, 0, 56);
  for (int j = 0; j < 32; ++j) {
    block[j] = static_cast<uint8_t>(Index(fit, j));
    block[32 + j / 2] |= static_cast<uint8_t>(Index(fit, j) >> 8 << (j % 2 * 4));  // three bits, then the shift's sign
  }
  const uint32_t half = HalfBits(fit.scale);
  for (int part = 0; part < 4; ++part) {
    uint32_t word = (half >> (4 * part) & 15) << 12;
    for (int j = 0; j < 4; ++j) word |= static_cast<uint32_t>(Scale(fit, 4 * part + j)) << (3 * j);
    Put16(word, block + 48 + 2 * part);
  }
}

}  // namespace inferd::quantize
