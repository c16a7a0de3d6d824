// Panels: 16 weight rows unpacked to bytes with the rows in the lanes, ready for an instruction set's byte products. A
// variant of the product is a set of unpackers (type to panel) and tiles (panels times a few tokens); matmul.h is the
// loop around them.
//
//   const PanelFormat format = Isa::FormatOf(TensorType::kQ4_0);
//   format.unpack(rows, row_bytes, 2, next, panel);                     // 64 elements of 16 rows
//   format.tile(1, 1)({.panels = {panel}, .blocks = 2, .activations = {y}, .out = {out}, .first = true});
//
// values[c] holds elements 4c..4c+3 of each row, four bytes a lane. What else a block holds, and whether its bytes are
// signed or biased, is between a variant's unpackers and tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quant_types.h"

namespace inferd::kernels::panels {

constexpr int kPanelRows = 16;
constexpr int kMostPanels = 2;
constexpr int kMostTokens = 8;

struct alignas(64) PanelBlock32 {
  uint8_t values[8][kPanelRows][4];
  float scale[kPanelRows];   // of all 32 elements, or of the first 16
  float second[kPanelRows];  // an added value, or the scale of the last 16
};

struct alignas(64) PanelBlock256 {
  uint8_t values[64][kPanelRows][4];
  int32_t scales[16][kPanelRows];      // of each 16 elements, or [8] of each 32
  int16_t minimums[8][kPanelRows][2];  // of pairs of groups: of 16 elements, or [4] of 32
  float scale[kPanelRows];
  float minimum[kPanelRows];
};

struct TileArguments {
  const void* panels[kMostPanels];
  int64_t blocks;
  const void* activations[kMostTokens];  // the first of the blocks, for each token
  float* out[kMostTokens];               // 16 columns for each panel, for each token
  bool first;                            // start at 0; else go on from what `out` holds
  // Memory to ask for meanwhile: `lines` of 64 bytes for every 32 elements, from `next` on. Variants may ignore it.
  const uint8_t* next = nullptr;
  int lines = 0;
  // Bytes from a token's activations to those that the next tile takes at its place; they may be asked for, too.
  int64_t ahead = 0;
};

using TileFunction = void (*)(const TileArguments& arguments);

using DirectFunction = void (*)(const uint8_t* rows, size_t row_stride, const uint8_t* next,
                                const TileArguments& arguments);

struct PanelFormat {
  // Unpacks `blocks` panel blocks of kPanelRows rows, row_stride bytes apart, and meanwhile asks for as many bytes from
  // `next` on as these blocks have.
  void (*unpack)(const uint8_t* rows, size_t row_stride, int64_t blocks, const uint8_t* next, void* panel);
  TileFunction (*tile)(int panels, int tokens);
  // Where a variant has it: the product of kPanelRows rows with one token, whose values never leave the registers.
  // `arguments` have no panels, and blocks of whole rows; `next` is as above.
  DirectFunction direct = nullptr;
};

}  // namespace inferd::kernels::panels
