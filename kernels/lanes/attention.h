// Attention in 16 lanes; reference/attention.cc defines it. A block of rows (queries times heads of the group) takes
// each page in turn: scores of all rows, softmax weights, sums of values. A few rows read an f16 page as it is; more
// rows, or other types, a copy of it in f32, made once for all.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/attention_block.h"
#include "kernels/lanes/attention_products.h"
#include "kernels/lanes/attention_spans.h"
#include "kernels/lanes/elementary.h"
#include "kernels/lanes/page_values.h"
#include "kernels/lanes/rows.h"

namespace inferd::kernels::lanes {

// Up to two tiles read an f16 page as it is, converting twice rather than storing a copy.
template <class L>
constexpr int64_t kRowsOfHalfPages = 2 * L::kTileRows;

// The score of 16 keys. `key`: their numbers in the page; `distance`: the page's first key - query.
template <class L>
inline typename L::Float Score(const AttentionArguments& a, typename L::Float product, typename L::Float key,
                               int64_t head, int64_t distance) {
  typename L::Float score = L::Multiply(product, L::Set(a.scale));
  if (a.soft_cap != 0.0f) {
    const typename L::Float cap = L::Set(a.soft_cap);
    score = L::Multiply(cap, Tanh<L>(L::Divide(score, cap)));
  }
  if (a.alibi_slopes == nullptr) return score;
  const typename L::Float ahead = L::Add(key, L::Set(static_cast<float>(distance)));
  const typename L::Float behind = L::Multiply(ahead, L::Set(-1.0f));
  return L::MultiplyAdd(L::Set(a.alibi_slopes[head]), L::Minimum(ahead, behind), score);
}

// Products of a row's first 16 * kChunks keys, which are all that it sees, become weights; 0 for keys that it does not
// see.
template <class L, int kChunks>
inline void WeighRow(const AttentionBlock<L>& b, int64_t row, int64_t distance) {
  using Float = typename L::Float;
  const Float unseen = L::Set(-__builtin_inff());
  const bool whole = b.seen[row].first == 0 && b.seen[row].end == 16 * kChunks;
  float* const weights = b.weights + row * kPageTokens;
  Float scores[kChunks];
  Float largest = L::Set(b.maxima[row]);
#pragma GCC unroll 4
  for (int c = 0; c < kChunks; ++c) {
    const Float key = L::Add(L::LaneNumbers(), L::Set(static_cast<float>(16 * c)));
    scores[c] = Score<L>(b.a, L::Load(weights + 16 * c), key, row % b.a.group, distance);
    if (!whole) {
      scores[c] = L::Select(L::Less(key, L::Set(static_cast<float>(b.seen[row].first))), unseen, scores[c]);
      scores[c] = L::Select(L::Less(key, L::Set(static_cast<float>(b.seen[row].end))), scores[c], unseen);
    }
    largest = L::Maximum(scores[c], largest);
  }
  const float maximum = L::LargestOf(largest);
  Float total = L::Set(0.0f);
#pragma GCC unroll 4
  for (int c = 0; c < kChunks; ++c) {
    const Float weight = Exp<L>(L::Subtract(scores[c], L::Set(maximum)));
    L::Store(weights + 16 * c, weight);
    total = L::Add(total, weight);
  }
  b.page_maxima[row] = maximum;
  b.page_totals[row] = L::Sum(total);
}

// All rows, then the corrections of 16 rows at a time. A maximum that stays has the correction e^0 = 1.
template <class L>
inline void WeighRows(const AttentionBlock<L>& b, int64_t page) {
  using Float = typename L::Float;
  for (int64_t row = 0; row < b.rows; ++row) {
    const int64_t distance = page * kPageTokens - b.Position(row);
    if (b.seen[row].first >= b.seen[row].end) {
      b.page_maxima[row] = b.maxima[row];
      b.page_totals[row] = 0.0f;
    } else if (b.seen[row].end > 48) {
      WeighRow<L, 4>(b, row, distance);
    } else if (b.seen[row].end > 32) {
      WeighRow<L, 3>(b, row, distance);
    } else if (b.seen[row].end > 16) {
      WeighRow<L, 2>(b, row, distance);
    } else {
      WeighRow<L, 1>(b, row, distance);
    }
  }
  for (int64_t row = 0; row < b.rows; row += 16) {
    const Float before = L::Load(b.maxima + row);
    const Float after = L::Load(b.page_maxima + row);
    const Float correction = L::Select(L::Less(before, after), Exp<L>(L::Subtract(before, after)), L::Set(1.0f));
    L::Store(b.corrections + row, correction);
    L::Store(b.maxima + row, after);
    L::Store(b.totals + row, L::MultiplyAdd(L::Load(b.totals + row), correction, L::Load(b.page_totals + row)));
  }
}

template <class L, class Keys, class Values>
inline void AddPage(const AttentionBlock<L>& b, int64_t page, const Keys& keys, const Values& values) {
  ForEachTile<L>(b.rows, [&]<int kRows>(int64_t first) { ScoreTile<L, kRows>(b, first, keys); });
  WeighRows<L>(b, page);
  ForEachTile<L>(b.rows, [&]<int kRows>(int64_t first) { ValueTile<L, kRows>(b, first, values); });
}

template <class L>
inline void AttendSpan(AttentionBlock<L>& b, int64_t span) {
  b.BeginSpan(span);
  const KeyRange pages = b.PagesOf(span);
  for (int64_t page = pages.first; page < pages.end; ++page) {
    b.FindSeen(page);
    const PageValues<L> stored(b.a.shape, b.a.pages[page], b.a.kv_head);
    if (stored.ReadableAsFloat()) {
      AddPage<L>(b, page, stored.FloatKeys(), stored.FloatValues());
    } else if (stored.ReadableAsHalf() && b.rows <= kRowsOfHalfPages<L>) {
      AddPage<L>(b, page, stored.HalfKeys(), stored.HalfValues());
    } else {
      stored.CopyKeys(b.keys);
      stored.CopyValues(b.values, b.v_stride);
      AddPage<L>(b, page, FloatRows<L>{b.keys, kPageTokens}, FloatRows<L>{b.values, b.v_stride});
    }
  }
}

template <class L>
inline void AttendBlock(AttentionBlock<L> b) {
  const int64_t first = b.FirstSpan(), last = b.LastSpan();
  for (int64_t span = first; span <= last; ++span) {
    AttendSpan<L>(b, span);
    for (int64_t row = 0; first < last && row < b.rows; ++row) {
      MergeRow<L>({b.maxima[row], b.totals[row], b.sums + row * b.v_stride}, b.v_stride,
                  {b.merged_maxima + row, b.merged_totals + row, b.merged_sums + row * b.v_stride});
    }
  }
  const float* const sums = first == last ? b.sums : b.merged_sums;
  const float* const totals = first == last ? b.totals : b.merged_totals;
  for (int64_t row = 0; row < b.rows; ++row) {
    Scale<L>(sums + row * b.v_stride, 1.0f / totals[row], b.a.shape.v_dim, b.Out(row));
  }
}

template <class L>
size_t AttentionScratchBytes(const PageShape& shape, int32_t group, int64_t queries) {
  return AttentionBlock<L>::ScratchBytes(shape, group, queries);
}

// task(block) for blocks of queries.
template <class L, class Task>
inline void ForEachBlock(const AttentionArguments& a, const Task& task) {
  const int64_t step = AttentionBlock<L>::MostQueries(a.group, a.queries);
  for (int64_t first = 0; first < a.queries; first += step) {
    task(AttentionBlock<L>(a, first, a.queries - first < step ? a.queries - first : step));
  }
}

template <class L>
void Attention(const AttentionArguments& a) {
  ForEachBlock<L>(a, [](const AttentionBlock<L>& b) { AttendBlock<L>(b); });
}

template <class L>
void AttentionSpan(const AttentionArguments& a, int64_t span, float* state) {
  ForEachBlock<L>(a, [&](AttentionBlock<L> b) {
    AttendSpan<L>(b, span);
    for (int64_t row = 0; row < b.rows; ++row, state += SpanStateFloats(a.shape.v_dim)) {
      state[0] = b.maxima[row];
      state[1] = b.totals[row];
      for (int64_t i = 0; i < b.v_stride; i += 16) L::Store(state + 16 + i, L::Load(b.sums + row * b.v_stride + i));
    }
  });
}

}  // namespace inferd::kernels::lanes
