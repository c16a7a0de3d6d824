// Many dot products at once, each one ascending chain of fma: the inner loop of attention.
//
//   HalfRows<Lanes> keys = {page, 64};                  // row d holds 64 tokens
//   Chain<Lanes, 4, 4>(q_rows, keys, 0, k_dim, sums);   // sums[r][c] += sum_d q_rows[r][d] * keys[d][16c..16c+15]
#pragma once

#include <cstdint>

namespace inferd::kernels::lanes {

// Rows of a page, read as f32.
template <class L>
struct FloatRows {
  const float* data;
  int64_t stride;
  typename L::Float Load(int64_t row, int64_t column) const { return L::Load(data + row * stride + column); }
  FloatRows From(int64_t column) const { return {data + column, stride}; }
};
template <class L>
struct HalfRows {
  const uint16_t* data;
  int64_t stride;
  typename L::Float Load(int64_t row, int64_t column) const { return L::LoadHalf(data + row * stride + column); }
  HalfRows From(int64_t column) const { return {data + column, stride}; }
};

// sums[r][c] = fma(left[r][i], right[i][16c..16c+15], sums[r][c]) for i = first..end-1
template <class L, int kRows, int kColumns, class Rows>
inline void Chain(const float* const* left, const Rows& right, int64_t first, int64_t end,
                  typename L::Float (*sums)[kColumns]) {
  for (int64_t i = first; i < end; ++i) {
    typename L::Float columns[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) columns[c] = right.Load(i, 16 * c);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const typename L::Float value = L::Set(left[r][i]);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = L::MultiplyAdd(value, columns[c], sums[r][c]);
    }
  }
}

// Calls tile.operator()<count>(first) for tiles of nearly equal count, at most kTileRows, that cover all rows.
template <class L, class Tile>
inline void ForEachTile(int64_t rows, const Tile& tile) {
  static_assert(L::kTileRows == 6);
  const int64_t tiles = (rows + L::kTileRows - 1) / L::kTileRows;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t first = rows * i / tiles;
    switch (rows * (i + 1) / tiles - first) {
      case 1:
        tile.template operator()<1>(first);
        break;
      case 2:
        tile.template operator()<2>(first);
        break;
      case 3:
        tile.template operator()<3>(first);
        break;
      case 4:
        tile.template operator()<4>(first);
        break;
      case 5:
        tile.template operator()<5>(first);
        break;
      case 6:
        tile.template operator()<6>(first);
        break;
    }
  }
}

}  // namespace inferd::kernels::lanes
