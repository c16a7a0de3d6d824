// Panels of the avx512 variant: how each type is unpacked, and which tile multiplies it.
//
// Values are the unsigned operand of vpdpbusd. "Signed" tiles take the value + 128, so that an accumulator which starts
// at the activations' offset ends as the sum of the values themselves; the others take values that are never negative.
#pragma once

#include "kernels/panels/panel.h"

namespace inferd::kernels::avx512 {

using panels::kPanelRows;
using panels::PanelBlock256;
using panels::PanelBlock32;
using panels::PanelFormat;
using panels::TileArguments;
using panels::TileFunction;

constexpr int kTilePanels = 2;
constexpr int kTileTokens = 6;

enum class TileKind : uint8_t {
  kSigned32,         // Q4_0, Q5_0, Q8_0, IQ4_NL, MXFP4
  kUnsigned32Added,  // Q4_1, Q5_1
  kSigned16,         // NVFP4
  // Blocks of 256 with integer scales of 16 or 32 elements, whose sums fit in int16:
  kSuperSigned16,        // seldom
  kSuperSigned6Bits16,   // Q6_K: nearly always
  kSuperNarrow16,        // values of at most 16: always
  kSuperMinimum16,       // Q2_K: always
  kSuperMinimum4Bits32,  // Q4_K: nearly always
  kSuperMinimum5Bits32,  // Q5_K: nearly always
};

// panels 1..kTilePanels, tokens 1..kTileTokens
template <TileKind kKind>
TileFunction TileOf(int panels, int tokens);

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackMXFP4(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ2_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ3_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackIQ4_XS(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);

// PanelFormat::direct
void DirectQ4_0(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ4_1(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ5_0(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ5_1(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ8_0(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectIQ4_NL(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectMXFP4(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ4_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ5_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ6_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ2_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectQ3_K(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);
void DirectIQ4_XS(const uint8_t* rows, size_t stride, const uint8_t* next, const TileArguments& arguments);

const PanelFormat& FormatOf(TensorType type);  // of a quantized type

}  // namespace inferd::kernels::avx512
