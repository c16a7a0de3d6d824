// Panels of the neon_i8mm variant: those of the neon variant (its unpackers), with columns c and c + 1 of each block, c
// even, brought together as smmla takes them: values[c], values[c + 1] hold elements 4c..4c+7 of each row, row by row.
#pragma once

#include "kernels/arm_neon/formats.h"

namespace inferd::kernels::i8mm {

using neon::TileKind;
using panels::PanelFormat;
using panels::TileArguments;
using panels::TileFunction;

constexpr int kLeastTileTokens = 4, kTileTokens = 8;

// panels: 1; tokens: kLeastTileTokens..kTileTokens
template <TileKind kKind>
TileFunction TileOf(int panels, int tokens);

const PanelFormat& FormatOf(TensorType type);  // of a quantized type

}  // namespace inferd::kernels::i8mm
