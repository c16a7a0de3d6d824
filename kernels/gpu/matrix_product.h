// Products with quantized weights of many tokens, by tiles (tensor cores).
//
//   MultiplyMatrix<TypeQ4_K><<<{rows / 128 rounded up, tokens / 8 rounded up}, kProductThreads>>>(arguments);
#pragma once

#include "kernels/gpu/product_links.h"

namespace inferd::kernels::gpu {

constexpr int kMatrixRows = kProductThreads / kWarpLanes * 16, kMatrixTokens = 8;  // of a block of threads

// Four int8 of a tile's row and depth: registers of MultiplyTiles.
template <class Type>
GPU_DEVICE void LoadWeights(const uint8_t* const (&rows)[2], int group, uint32_t (&registers)[4]) {
  GPU_UNROLL
  for (int r = 0; r < 4; ++r) {
    registers[r] = Type::Word(rows[r & 1], 8 * group + TileLayout::DepthOfA(Lane(), r) / 4);
  }
}

// The exact dot products of 32 elements, or of 256 with integer scales, of the lane's four outputs. `rows`: the blocks
// of the rows whose weights the lane loads, which are also those of its outputs; `quants`: of the column it loads.
template <class Type>
GPU_DEVICE void TileDots(const uint8_t* const (&rows)[2], const int8_t* quants, int (&dots)[4]) {
  GPU_UNROLL
  for (int i = 0; i < 4; ++i) dots[i] = 0;
  for (int group = 0; group < Type::kElements / 32; ++group) {
    uint32_t weights[4], column[2];
    LoadWeights<Type>(rows, group, weights);
    GPU_UNROLL
    for (int r = 0; r < 2; ++r) column[r] = QuantWord(quants, 8 * group + TileLayout::DepthOfB(Lane(), r) / 4);
    int d[4];
    if constexpr (!kIsSuper<Type>) {
      MultiplyTiles(dots, weights, column);
    } else if constexpr (Type::kScaleElements == 32) {
      MultiplyTiles(d, weights, column);
      GPU_UNROLL
      for (int i = 0; i < 4; ++i) dots[i] += Type::GroupScale(rows[i >> 1], 2 * group) * d[i];
    } else {  // registers 0 and 1 hold the first 16 elements, 2 and 3 the next
      const uint32_t low[4] = {weights[0], weights[1], 0, 0}, high[4] = {0, 0, weights[2], weights[3]};
      MultiplyTiles(d, low, column);
      GPU_UNROLL
      for (int i = 0; i < 4; ++i) dots[i] += Type::GroupScale(rows[i >> 1], 2 * group) * d[i];
      MultiplyTiles(d, high, column);
      GPU_UNROLL
      for (int i = 0; i < 4; ++i) dots[i] += Type::GroupScale(rows[i >> 1], 2 * group + 1) * d[i];
    }
  }
}

// Many tokens: a warp makes 16 rows x 8 tokens.
template <class Type>
GPU_KERNEL(kProductThreads, MultiplyMatrix, ProductArguments a) {
  using Activation = typename ActivationOf<kIsSuper<Type>>::Block;
  const int row0 = BlockX() * kMatrixRows + Warp() * 16, token0 = BlockY() * kMatrixTokens;
  const auto column_of = [&](int token) {  // outputs beyond the last token are made, too, but not stored
    const int inside = token < a.tokens ? token : a.tokens - 1;
    return reinterpret_cast<const Activation*>(a.activations + inside * a.activation_row_bytes);
  };
  const Activation* const loaded = column_of(token0 + TileLayout::ColumnOfB(Lane()));
  const Activation* const columns[2] = {column_of(token0 + TileLayout::ColumnOfD(Lane(), 0)),
                                        column_of(token0 + TileLayout::ColumnOfD(Lane(), 1))};
  float sums[4] = {};
  for (int b = 0; b < a.blocks; ++b) {
    const uint8_t* rows[2];
    GPU_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int row = row0 + TileLayout::RowOfA(Lane(), i);
      rows[i] = a.weights + (row < a.rows ? row : a.rows - 1) * a.row_bytes + static_cast<int64_t>(b) * Type::kBytes;
    }
    int dots[4];
    TileDots<Type>(rows, loaded[b].quants, dots);
    GPU_UNROLL
    for (int i = 0; i < 4; ++i) {
      Link links[kLinks<Type>];
      MakeLinks<Type>(rows[i >> 1], columns[i & 1][b], dots[i], links);
      for (const Link& link : links) sums[i] = MultiplyAdd(link.factor, link.term, sums[i]);
    }
  }
  GPU_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int row = row0 + TileLayout::RowOfD(Lane(), i), token = token0 + TileLayout::ColumnOfD(Lane(), i);
    if (row < a.rows && token < a.tokens) a.out[token * a.out_stride + row] = sums[i];
  }
}

}  // namespace inferd::kernels::gpu
