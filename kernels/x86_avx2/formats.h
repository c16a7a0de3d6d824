// Panels of the avx2 variant: how each type is unpacked, and which tile multiplies it.
//
// vpmaddubsw adds two products of an unsigned and a signed byte to 16 bits, saturating, so tiles differ by how many
// bits their values have: of values below 16, eight such sums fit 16 bits, below 32 four, below 64 two; full bytes are
// kept signed, and one sum of magnitude and signed activation fits. Q4_0, Q5_0 and Q6_K keep their unsigned values, and
// the bias is taken out with the sums of the activations.
#pragma once

#include "kernels/panels/panel.h"

namespace inferd::kernels::avx2 {

using panels::DirectFunction;
using panels::kPanelRows;
using panels::PanelBlock256;
using panels::PanelBlock32;
using panels::PanelFormat;
using panels::TileArguments;
using panels::TileFunction;

constexpr size_t kHalfRows = kPanelRows / 2;
constexpr int kTileTokens = 4;

// What a tile of 32-element blocks does beside the scaled dot.
enum class Extra32 : uint8_t {
  kNone,
  kBias,       // values are 2^(bits - 1) too large
  kAdded,      // Q4_1, Q5_1
  kTwoScales,  // NVFP4: a scale for each 16 elements
};

// What a tile of 256-element blocks does beside the scaled dot. Its scales are pairs of int16.
enum class Extra256 : uint8_t {
  kNone,
  kBias,     // integer: PanelBlock256::minimums hold bias * scale
  kMinimum,  // Q2_K, Q4_K, Q5_K
};

// panels: 1; tokens: 1..kTileTokens; kBits: 4, 5, 6, or 8 for signed values
template <int kBits, Extra32 kExtra>
TileFunction Tile32(int panels, int tokens);
template <int kBits, int kGroup, Extra256 kExtra>
TileFunction Tile256(int panels, int tokens);

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);

DirectFunction DirectOf(TensorType type);  // nullptr: the type has none
PanelFormat FormatOf(TensorType type);     // of a quantized type

}  // namespace inferd::kernels::avx2
