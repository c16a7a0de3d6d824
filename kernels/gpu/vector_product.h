// Products with quantized weights of one token at a time, by dot products of four bytes.
//
//   MultiplyVector<TypeQ4_K><<<{rows / 32 rounded up, tokens}, kProductThreads>>>(arguments);
#pragma once

#include "kernels/gpu/product_links.h"

namespace inferd::kernels::gpu {

constexpr int kVectorRows = 32, kVectorBlocks = 32;  // of one step of a block of threads

// The exact dot product of a whole block, scaled by its integer scales where it has them.
template <class Type, class Activation>
GPU_DEVICE int BlockDot(const uint8_t* w, const Activation& y) {
  if constexpr (!kIsSuper<Type>) {
    int dot = 0;
    GPU_UNROLL
    for (int i = 0; i < Type::kElements / 4; ++i) dot = Dot4(Type::Word(w, i), QuantWord(y.quants, i), dot);
    return dot;
  } else {
    int sum = 0;
    GPU_UNROLL_BY(4)
    for (int j = 0; j < 16; ++j) {
      int dot = 0;
      GPU_UNROLL
      for (int i = 4 * j; i < 4 * j + 4; ++i) dot = Dot4(Type::Word(w, i), QuantWord(y.quants, i), dot);
      sum += Type::GroupScale(w, j) * dot;
    }
    return sum;
  }
}

// One token. Warps make the links of 32 rows and 32 blocks, a lane for each block; then one warp, a lane for each row,
// follows the chains, while the others make the next links.
template <class Type>
GPU_KERNEL(kProductThreads, MultiplyVector, ProductArguments a) {
  using Activation = typename ActivationOf<kIsSuper<Type>>::Block;
  GPU_SHARED(Link, kept, [2][kLinks<Type>][kVectorRows][kVectorBlocks + 1]);
  const auto* const y = reinterpret_cast<const Activation*>(a.activations + BlockY() * a.activation_row_bytes);
  const int first = BlockX() * kVectorRows;
  float sum = 0.0f;
  for (int chunk = 0, p = 0; chunk < a.blocks; chunk += kVectorBlocks, p ^= 1) {
    const int b = chunk + Lane();
    for (int r = Warp(); b < a.blocks && r < kVectorRows && first + r < a.rows; r += kProductThreads / kWarpLanes) {
      const uint8_t* const w = a.weights + (first + r) * a.row_bytes + static_cast<int64_t>(b) * Type::kBytes;
      Link links[kLinks<Type>];
      MakeLinks<Type>(w, y[b], BlockDot<Type>(w, y[b]), links);
      for (int i = 0; i < kLinks<Type>; ++i) kept[p][i][r][Lane()] = links[i];
    }
    SyncThreads();  // one a chunk: the other half is written while this one is read
    if (Warp() != 0) continue;
    const int count = a.blocks - chunk < kVectorBlocks ? a.blocks - chunk : kVectorBlocks;
    for (int i = 0; i < count; ++i) {
      for (int link = 0; link < kLinks<Type>; ++link) {
        const Link next = kept[p][link][Lane()][i];
        sum = MultiplyAdd(next.factor, next.term, sum);
      }
    }
  }
  if (Warp() == 0 && first + Lane() < a.rows) a.out[BlockY() * a.out_stride + first + Lane()] = sum;
}

}  // namespace inferd::kernels::gpu
