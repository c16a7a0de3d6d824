// Panels of the neon variant: how each type is unpacked, and which tile multiplies it. All values are kept as they are,
// for the dot product takes signed bytes.
#pragma once

#include "kernels/panels/panel.h"

namespace inferd::kernels::neon {

using panels::kPanelRows;
using panels::PanelBlock256;
using panels::PanelBlock32;
using panels::PanelFormat;
using panels::TileArguments;
using panels::TileFunction;

constexpr int kTileTokens = 3;

enum class TileKind : uint8_t {
  kScale32,       // one scale for 32 elements
  kScale32Added,  // and an added value: Q4_1, Q5_1
  kScale16,       // one scale for 16 elements: NVFP4
  kSuper16,       // 256 elements, an integer scale for each 16
  kMinimum16,     // also a minimum: Q2_K
  kMinimum32,     // both for each 32: Q4_K, Q5_K
};

constexpr bool IsSuper(TileKind kind) {  // of PanelBlock256
  return kind == TileKind::kSuper16 || kind == TileKind::kMinimum16 || kind == TileKind::kMinimum32;
}

// panels: 1; tokens: 1..kTileTokens
template <TileKind kKind>
TileFunction TileOf(int panels, int tokens);

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);

const PanelFormat& FormatOf(TensorType type);  // of a quantized type

}  // namespace inferd::kernels::neon
