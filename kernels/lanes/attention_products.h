// The two products of attention: queries with keys, weights with values; in tiles of up to kTileRows rows whose chains
// stay in registers.
#pragma once

#include "kernels/lanes/attention_block.h"
#include "kernels/lanes/chain.h"

namespace inferd::kernels::lanes {

// weights[row][t] = q[row] . keys[t] for the keys t = column..column+16*kColumns-1.
template <class L, int kRows, int kColumns, class Keys>
inline void ScoreColumns(const AttentionBlock<L>& b, int64_t first, const Keys& keys, int64_t column) {
  const float* q[kRows];
  typename L::Float scores[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    q[r] = b.Query(first + r);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) scores[r][c] = L::Set(0.0f);
  }
  Chain<L, kRows, kColumns>(q, keys.From(column), 0, b.a.shape.k_dim, scores);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      L::Store(b.weights + (first + r) * kPageTokens + column + 16 * c, scores[r][c]);
    }
  }
}

// For all keys of the page up to the last one that some row sees, in steps of 16.
template <class L, int kRows, class Keys>
inline void ScoreTile(const AttentionBlock<L>& b, int64_t first, const Keys& keys) {
  constexpr int kColumns = L::kTileColumns;
  int64_t end = 0, column = 0;
  for (int r = 0; r < kRows; ++r) end = b.seen[first + r].end > end ? b.seen[first + r].end : end;
  for (; column + 16 * (kColumns - 1) < end; column += 16 * kColumns) {
    ScoreColumns<L, kRows, kColumns>(b, first, keys, column);
  }
  if constexpr (kColumns == 4) {
    if (column + 32 < end) return ScoreColumns<L, kRows, 3>(b, first, keys, column);
    if (column + 16 < end) return ScoreColumns<L, kRows, 2>(b, first, keys, column);
    if (column < end) ScoreColumns<L, kRows, 1>(b, first, keys, column);
  } else {
    static_assert(kColumns <= 2);
    if (column < end) ScoreColumns<L, kRows, 1>(b, first, keys, column);
  }
}

// Columns column..column+16*kColumns-1 of the sums; `values` begins there too.
template <class L, int kRows, int kColumns, class Values>
inline void AddValueColumns(const AttentionBlock<L>& b, int64_t first, const Values& values, int64_t column,
                            KeyRange common) {
  const float* weights[kRows];
  typename L::Float sums[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = first + r;
    weights[r] = b.weights + row * kPageTokens;
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      sums[r][c] = L::Multiply(L::Load(b.sums + row * b.v_stride + column + 16 * c), L::Set(b.corrections[row]));
    }
    Chain<L, 1, kColumns>(weights + r, values, b.seen[row].first, common.first, sums + r);
  }
  Chain<L, kRows, kColumns>(weights, values, common.first, common.end, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = first + r;
    Chain<L, 1, kColumns>(weights + r, values, common.end, b.seen[row].end, sums + r);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) L::Store(b.sums + row * b.v_stride + column + 16 * c, sums[r][c]);
  }
}

template <class L, int kRows, class Values>
inline void AddValues(const AttentionBlock<L>& b, int64_t first, const Values& values, KeyRange common) {
  constexpr int kColumns = L::kTileColumns;
  int64_t column = 0;
  for (; column + 16 * kColumns <= b.v_stride; column += 16 * kColumns) {
    AddValueColumns<L, kRows, kColumns>(b, first, values.From(column), column, common);
  }
  for (; column < b.v_stride; column += 16) {
    AddValueColumns<L, kRows, 1>(b, first, values.From(column), column, common);
  }
}

// sums[row] = sums[row] * correction + weights[row] . values, keys ascending. The rows of a tile go together over the
// keys that all of them see, and each alone over the rest; rows without a common key go one by one.
template <class L, int kRows, class Values>
inline void ValueTile(const AttentionBlock<L>& b, int64_t first, const Values& values) {
  KeyRange common = b.seen[first];
  for (int r = 1; r < kRows; ++r) {
    const KeyRange& seen = b.seen[first + r];
    if (seen.first > common.first) common.first = seen.first;
    if (seen.end < common.end) common.end = seen.end;
  }
  if (common.first < common.end) return AddValues<L, kRows>(b, first, values, common);
  for (int64_t row = first; row < first + kRows; ++row) {
    if (b.seen[row].first < b.seen[row].end) AddValues<L, 1>(b, row, values, b.seen[row]);
  }
}

}  // namespace inferd::kernels::lanes
