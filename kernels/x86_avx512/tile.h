// Micro-kernels: panels of 16 rows times a few tokens, along a run of blocks.
//
//   TileArguments tile{.panels = {panel0, panel1}, .blocks = 16, ...};
//   TileOf(TileKind::kSigned32, /*panels=*/2, /*tokens=*/6)(tile);
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/x86_avx512/panel.h"

namespace inferd::kernels::avx512 {

constexpr int kTilePanels = 2;
constexpr int kTileTokens = 6;

struct TileArguments {
  const void* panels[kTilePanels];
  int64_t blocks;
  const void* activations[kTileTokens];  // the first of the blocks, for each token
  float* out[kTileTokens];               // the first panel's columns, for each token
  uint16_t mask[kTilePanels];            // columns that exist
  bool first;                            // start at 0; else go on from what `out` holds
};

using TileFunction = void (*)(const TileArguments& arguments);

// panels 1..kTilePanels, tokens 1..kTileTokens
TileFunction TileOf(TileKind kind, int panels, int tokens);

}  // namespace inferd::kernels::avx512
