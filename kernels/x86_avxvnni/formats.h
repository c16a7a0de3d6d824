// Panels of the avxvnni variant: those of the avx2 variant (its unpackers), multiplied by vpdpbusd, which adds four
// products of an unsigned and a signed byte to 32 bits. Values that the panel keeps signed get a bias of 128 on the
// way.
#pragma once

#include "kernels/x86_avx2/formats.h"

namespace inferd::kernels::avxvnni {

using avx2::Extra256;
using avx2::Extra32;
using panels::DirectFunction;
using panels::PanelFormat;
using panels::TileArguments;
using panels::TileFunction;

constexpr int kTileTokens = 6;

// As in the avx2 variant. panels: 1; tokens: 1..kTileTokens; kBits: 4, 5, 6, or 8 for signed values
template <int kBits, Extra32 kExtra>
TileFunction Tile32(int panels, int tokens);
template <int kBits, int kGroup, Extra256 kExtra>
TileFunction Tile256(int panels, int tokens);

DirectFunction DirectOf(TensorType type);  // nullptr: the type has none
PanelFormat FormatOf(TensorType type);     // of a quantized type

}  // namespace inferd::kernels::avxvnni
