// The rows of attention that take a page together, and their state in the caller's scratch: of the span that is at
// work, and of the spans before it.
//
//   AttentionBlock<Lanes> block(arguments, 0, AttentionBlock<Lanes>::MostQueries(group, queries));
//   block.BeginSpan(0);
//   block.FindSeen(3);                       // block.seen: which keys of page 3 each row sees
//
// A row is a query head of one query: row = query * group + head.
#pragma once

#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace inferd::kernels::lanes {

using reference::KeyRange;

template <class L>
struct AttentionBlock {
  const AttentionArguments& a;
  int64_t first_query, queries, rows;
  int64_t v_stride;                                    // v_dim rounded up to 16
  float* weights;                                      // [rows][64] scores, then weights, of the page's keys
  float* sums;                                         // [rows][v_stride] of values of the span
  float* keys;                                         // [k_dim][64] f32 copy of the page
  float* values;                                       // [64][v_stride] f32 copy of the page
  float* maxima;                                       // [rows] of scores, before the page
  float* totals;                                       // [rows] of weights, before the page
  float* page_maxima;                                  // [rows] of scores, with the page
  float* page_totals;                                  // [rows] of the page's weights
  float* corrections;                                  // [rows] what the page multiplies sums and totals by
  float *merged_sums, *merged_maxima, *merged_totals;  // the same of all spans before; total 0: the row saw none
  KeyRange* seen;                                      // [rows] keys of the page, counted from its first
  bool all_seen;                                       // every row sees the whole page

  // At most, unless one query has more: sums and weights of so many rows stay in the second-level cache.
  static constexpr int64_t kRows = 128;

  static int64_t MostQueries(int32_t group, int64_t queries) {
    const int64_t most = group >= kRows ? 1 : kRows / group;
    return queries < most ? queries : most;
  }

  static size_t ScratchBytes(const PageShape& shape, int32_t group, int64_t queries) {
    const int64_t rows = MostQueries(group, queries) * group;
    const int64_t v_stride = RoundUp16(shape.v_dim);
    const int64_t floats = rows * (kPageTokens + 2 * v_stride) + kPageTokens * (shape.k_dim + v_stride);
    return static_cast<size_t>(floats + 7 * RoundUp16(rows)) * sizeof(float) +
           static_cast<size_t>(rows) * sizeof(KeyRange);
  }

  AttentionBlock(const AttentionArguments& arguments, int64_t first, int64_t count)
      : a(arguments), first_query(first), queries(count), rows(count * arguments.group), all_seen(false) {
    v_stride = RoundUp16(a.shape.v_dim);
    float* next = static_cast<float*>(a.scratch);
    weights = Take(next, rows * kPageTokens);
    sums = Take(next, rows * v_stride);
    keys = Take(next, kPageTokens * a.shape.k_dim);
    values = Take(next, kPageTokens * v_stride);
    maxima = Take(next, rows);
    totals = Take(next, rows);
    page_maxima = Take(next, rows);
    page_totals = Take(next, rows);
    corrections = Take(next, rows);
    merged_sums = Take(next, rows * v_stride);
    merged_maxima = Take(next, rows);
    merged_totals = Take(next, rows);
    seen = reinterpret_cast<KeyRange*>(next);
    for (int64_t row = 0; row < rows; ++row) merged_totals[row] = 0.0f;
  }

  // A row's first span starts with its sink.
  void BeginSpan(int64_t span) {
    for (int64_t row = 0; row < rows; ++row) {
      const bool sink = a.sinks != nullptr && SeenBy(row).first / kSpanTokens == span;
      maxima[row] = sink ? a.sinks[row % a.group] : -__builtin_inff();
      totals[row] = sink ? 1.0f : 0.0f;
    }
    for (int64_t i = 0; i < rows * v_stride; i += 16) L::Store(sums + i, L::Set(0.0f));
  }

  int64_t Position(int64_t row) const { return a.position + first_query + row / a.group; }
  KeyRange SeenBy(int64_t row) const { return reference::SeenKeys(a, Position(row)); }
  const float* Query(int64_t row) const {
    return a.q + (first_query + row / a.group) * a.q_stride + row % a.group * a.shape.k_dim;
  }
  float* Out(int64_t row) const {
    return a.out + (first_query + row / a.group) * a.out_stride + row % a.group * a.shape.v_dim;
  }

  int64_t FirstSpan() const { return SeenBy(0).first / kSpanTokens; }
  int64_t LastSpan() const { return (SeenBy(rows - 1).end - 1) / kSpanTokens; }
  // The span's pages of which some row sees a key: first..end-1.
  KeyRange PagesOf(int64_t span) const {
    constexpr int64_t kPages = kSpanTokens / kPageTokens;
    const int64_t first = SeenBy(0).first / kPageTokens, end = (SeenBy(rows - 1).end - 1) / kPageTokens + 1;
    return {first > span * kPages ? first : span * kPages, end < (span + 1) * kPages ? end : (span + 1) * kPages};
  }

  void FindSeen(int64_t page) {
    const int64_t begin = page * kPageTokens;
    // Both ends of what a query sees rise with its position.
    const bool all = SeenBy(rows - 1).first <= begin && SeenBy(0).end >= begin + kPageTokens;
    if (all && all_seen) return;
    for (int64_t row = 0; row < rows; ++row) {
      const KeyRange range = all ? KeyRange{begin, begin + kPageTokens} : SeenBy(row);
      seen[row].first = range.first < begin ? 0 : range.first - begin;
      seen[row].end = range.end > begin + kPageTokens ? kPageTokens : range.end - begin;
    }
    all_seen = all;
  }

 private:
  static int64_t RoundUp16(int64_t n) { return (n + 15) / 16 * 16; }
  static float* Take(float*& next, int64_t floats) {
    float* taken = next;
    next += RoundUp16(floats);
    return taken;
  }
};

}  // namespace inferd::kernels::lanes
