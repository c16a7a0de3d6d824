// Panels: 16 weight rows unpacked to unsigned bytes with the rows in the lanes, ready for vpdpbusd.
//
//   PanelBlock32 panel[2];                           // 64 elements of 16 rows
//   Format(TensorType::kQ4_0).unpack(rows, row_bytes, 2, panel);
//
// values[c] holds elements 4c..4c+3 of each row, four bytes a lane. "Signed" formats store the value + 128, so that an
// accumulator which starts at ActivationBlock::offset ends as the sum of the values themselves; the others store the
// value, which is never negative.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quant_types.h"

namespace inferd::kernels::avx512 {

constexpr int kPanelRows = 16;

struct alignas(64) PanelBlock32 {
  uint8_t values[8][kPanelRows][4];
  float scale[kPanelRows];   // of all 32 elements, or of the first 16
  float second[kPanelRows];  // kScale32Added: the added value; kScale16: the scale of the last 16
};

struct alignas(64) PanelBlock256 {
  uint8_t values[64][kPanelRows][4];
  int32_t scales[16][kPanelRows];      // of each 16 elements, or [8] of each 32
  int16_t minimums[8][kPanelRows][2];  // of pairs of groups: of 16 elements, or [4] of 32
  float scale[kPanelRows];
  float minimum[kPanelRows];
};

// What a tile does with a block; each is one instantiation of the micro-kernels in tile.h.
enum class TileKind : uint8_t {
  kSigned32,         // Q4_0, Q5_0, Q8_0, IQ4_NL, MXFP4
  kUnsigned32Added,  // Q4_1, Q5_1
  kSigned16,         // NVFP4
  kSuperSigned16,    // 256 elements, integer scales of 16
  kSuperMinimum16,   // Q2_K
  kSuperMinimum32,   // Q4_K, Q5_K
};

struct PanelFormat {
  TileKind kind;
  // Unpacks `blocks` panel blocks of kPanelRows rows, row_stride bytes apart.
  void (*unpack)(const uint8_t* rows, size_t row_stride, int64_t blocks, const uint8_t* next, void* panel);
};

// The format of a quantized type.
const PanelFormat& FormatOf(TensorType type);

}  // namespace inferd::kernels::avx512
