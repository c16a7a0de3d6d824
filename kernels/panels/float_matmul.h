// The product with float weights, for any instruction set: a few rows times a few tokens at a time.
//
//   struct Isa {
//     static constexpr int kRows = 4, kTokens = 6;   // of the largest tile
//     template <TensorType kType> static void Multiply(const FloatTile<kRows, kTokens>& tile, int tokens);
//   };
//   FloatMatmul<Isa>(arguments);
#pragma once

#include "kernels/kernels.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::panels {

template <int kRows, int kTokens>
struct FloatTile {
  const uint8_t* rows[kRows];  // the last existing one again where there are fewer
  const float* x[kTokens];     // padded with zeros to a multiple of 16
  float* out[kTokens];
  int64_t k;
  int row_count;
};

template <typename Isa, TensorType kType>
void MultiplyRows(const MatmulArguments& a) {
  const size_t activation_row_bytes = reference::ActivationRowBytes(ActivationFormat::kFloat, a.weights.k);
  const auto* weights = static_cast<const uint8_t*>(a.weights.data);
  const auto* activations = static_cast<const uint8_t*>(a.activations);
  for (int64_t row = a.row_begin; row < a.row_end; row += Isa::kRows) {
    FloatTile<Isa::kRows, Isa::kTokens> tile{.k = a.weights.k};
    tile.row_count = static_cast<int>(a.row_end - row < Isa::kRows ? a.row_end - row : Isa::kRows);
    for (int r = 0; r < Isa::kRows; ++r) {
      const int64_t source = row + (r < tile.row_count ? r : tile.row_count - 1);
      tile.rows[r] = weights + static_cast<size_t>(source) * a.weights.row_bytes;
    }
    for (int64_t token = 0; token < a.tokens; token += Isa::kTokens) {
      const int tokens = static_cast<int>(a.tokens - token < Isa::kTokens ? a.tokens - token : Isa::kTokens);
      for (int t = 0; t < tokens; ++t) {
        const int64_t source = a.activation_rows == nullptr ? token + t : a.activation_rows[token + t];
        tile.x[t] = reinterpret_cast<const float*>(activations + static_cast<size_t>(source) * activation_row_bytes);
        tile.out[t] = a.out + (token + t) * a.out_stride + row;
      }
      Isa::template Multiply<kType>(tile, tokens);
    }
  }
}

template <typename Isa>
void FloatMatmul(const MatmulArguments& arguments) {
  switch (arguments.weights.type) {
    case TensorType::kF16:
      return MultiplyRows<Isa, TensorType::kF16>(arguments);
    case TensorType::kBF16:
      return MultiplyRows<Isa, TensorType::kBF16>(arguments);
    default:
      return MultiplyRows<Isa, TensorType::kF32>(arguments);
  }
}

}  // namespace inferd::kernels::panels
