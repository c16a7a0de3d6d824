// Attention in 16 lanes; reference/attention.cc defines it. A block of rows (queries times heads of the group) takes
// each page in turn:
//   scores of all rows -> mask, softmax weights -> sums of values
// in tiles of up to kTileRows rows, whose chains stay in registers. One tile of rows reads an f16 page as it is; more
// rows read a copy of it in f32, made once for all.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/chain.h"
#include "kernels/lanes/elementary.h"
#include "kernels/lanes/page_values.h"
#include "kernels/lanes/rows.h"
#include "kernels/reference/reference.h"

namespace inferd::kernels::lanes {

template <class L>
class BlockAttention {
 public:
  // Queries first_query..first_query+queries-1 of the arguments, of which the scratch holds the state.
  BlockAttention(const AttentionArguments& arguments, int64_t first_query, int64_t queries)
      : a_(arguments),
        first_query_(first_query),
        queries_(queries),
        rows_(queries * arguments.group),
        v_stride_(RoundUp16(arguments.shape.v_dim)) {
    float* next = static_cast<float*>(a_.scratch);
    weights_ = Take(next, rows_ * kPageTokens);
    sums_ = Take(next, rows_ * v_stride_);
    keys_ = Take(next, kPageTokens * a_.shape.k_dim);
    values_ = Take(next, kPageTokens * v_stride_);
    maxima_ = Take(next, rows_);
    totals_ = Take(next, rows_);
    corrections_ = Take(next, rows_);
    seen_ = reinterpret_cast<KeyRange*>(next);
  }

  static size_t ScratchBytes(const PageShape& shape, int32_t group, int64_t queries) {
    const int64_t rows = MostQueries(group, queries) * group;
    const int64_t v_stride = RoundUp16(shape.v_dim);
    const int64_t floats =
        rows * (kPageTokens + v_stride) + kPageTokens * (shape.k_dim + v_stride) + 3 * RoundUp16(rows);
    return static_cast<size_t>(floats) * sizeof(float) + static_cast<size_t>(rows) * sizeof(KeyRange);
  }

  // Queries of one block.
  static int64_t MostQueries(int32_t group, int64_t queries) {
    const int64_t most = group >= kBlockRows ? 1 : kBlockRows / group;
    return queries < most ? queries : most;
  }

  void Run() {
    Start();
    const int64_t first_page = SeenBy(0).first / kPageTokens;
    const int64_t last_page = (SeenBy(queries_ - 1).end - 1) / kPageTokens;
    for (int64_t page = first_page; page <= last_page; ++page) {
      FindSeen(page);
      const PageValues<L> stored(a_.shape, a_.pages[page], a_.kv_head);
      if (stored.ReadableAsFloat()) {
        AddPage(page, stored.FloatKeys(), stored.FloatValues());
      } else if (stored.ReadableAsHalf() && rows_ <= L::kTileRows) {
        AddPage(page, stored.HalfKeys(), stored.HalfValues());
      } else {
        stored.CopyKeys(keys_);
        stored.CopyValues(values_, v_stride_);
        AddPage(page, FloatRows<L>{keys_, kPageTokens}, FloatRows<L>{values_, v_stride_});
      }
    }
    Finish();
  }

 private:
  using Float = typename L::Float;
  using KeyRange = reference::KeyRange;

  // At most, unless one query has more: sums and weights of so many rows stay in the second-level cache.
  static constexpr int64_t kBlockRows = 96;
  static constexpr float kUnseen = -__builtin_inff();

  static int64_t RoundUp16(int64_t n) { return (n + 15) / 16 * 16; }
  static float* Take(float*& next, int64_t floats) {
    float* taken = next;
    next += RoundUp16(floats);
    return taken;
  }

  int64_t Position(int64_t query) const { return a_.position + first_query_ + query; }
  KeyRange SeenBy(int64_t query) const { return reference::SeenKeys(a_, Position(query)); }

  void Start() {
    for (int64_t row = 0; row < rows_; ++row) {
      maxima_[row] = a_.sinks == nullptr ? kUnseen : a_.sinks[row % a_.group];
      totals_[row] = a_.sinks == nullptr ? 0.0f : 1.0f;
    }
    for (int64_t i = 0; i < rows_ * v_stride_; i += 16) L::Store(sums_ + i, L::Set(0.0f));
  }

  // Which keys of the page each row sees, counted from the page's first.
  void FindSeen(int64_t page) {
    for (int64_t query = 0; query < queries_; ++query) {
      KeyRange seen = SeenBy(query);
      seen.first -= page * kPageTokens;
      seen.end -= page * kPageTokens;
      if (seen.first < 0) seen.first = 0;
      if (seen.end > kPageTokens) seen.end = kPageTokens;
      for (int32_t head = 0; head < a_.group; ++head) seen_[query * a_.group + head] = seen;
    }
  }

  template <class Keys, class Values>
  void AddPage(int64_t page, const Keys& keys, const Values& values) {
    ForEachTile<L>(rows_, [&]<int kRows>(int64_t first) { ScoreTile<kRows>(first, keys); });
    for (int64_t row = 0; row < rows_; ++row) {
      if (seen_[row].first < seen_[row].end) WeighRow(row, page * kPageTokens - Position(row / a_.group));
    }
    ForEachTile<L>(rows_, [&]<int kRows>(int64_t first) { ValueTile<kRows>(first, values); });
  }

  // Products of queries and keys, for all keys of the page.
  template <int kRows, class Keys>
  void ScoreTile(int64_t first, const Keys& keys) {
    constexpr int kColumns = L::kTileColumns;
    const float* q[kRows];
    for (int r = 0; r < kRows; ++r) {
      const int64_t query = first_query_ + (first + r) / a_.group;
      q[r] = a_.q + query * a_.q_stride + (first + r) % a_.group * a_.shape.k_dim;
    }
    for (int64_t column = 0; column < kPageTokens; column += 16 * kColumns) {
      Float scores[kRows][kColumns];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) scores[r][c] = L::Set(0.0f);
      }
      Chain<L, kRows, kColumns>(q, keys.From(column), 0, a_.shape.k_dim, scores);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) {
          L::Store(weights_ + (first + r) * kPageTokens + column + 16 * c, scores[r][c]);
        }
      }
    }
  }

  // Products become weights; the row's maximum, total and correction follow. `distance`: page's first key - query.
  void WeighRow(int64_t row, int64_t distance) {
    float* const weights = weights_ + row * kPageTokens;
    Float scores[4];
    Float largest = L::Set(maxima_[row]);
    for (int c = 0; c < 4; ++c) {
      const Float key = L::Add(L::LaneNumbers(), L::Set(static_cast<float>(16 * c)));
      const Float score = Score(L::Load(weights + 16 * c), key, row % a_.group, distance);
      const Float begun = L::Select(L::Less(key, L::Set(static_cast<float>(seen_[row].first))), L::Set(kUnseen), score);
      scores[c] = L::Select(L::Less(key, L::Set(static_cast<float>(seen_[row].end))), begun, L::Set(kUnseen));
      largest = L::Maximum(scores[c], largest);
    }
    const float maximum = L::LargestOf(largest);
    Float total = L::Set(0.0f);
    for (int c = 0; c < 4; ++c) {
      const Float weight = Exp<L>(L::Subtract(scores[c], L::Set(maximum)));
      L::Store(weights + 16 * c, weight);
      total = L::Add(total, weight);
    }
    L::StoreFirst(corrections_ + row, 1, Exp<L>(L::Set(maxima_[row] - maximum)));
    totals_[row] = __builtin_fmaf(totals_[row], corrections_[row], L::Sum(total));
    maxima_[row] = maximum;
  }

  Float Score(Float product, Float key, int64_t head, int64_t distance) const {
    Float score = L::Multiply(product, L::Set(a_.scale));
    if (a_.soft_cap != 0.0f) {
      const Float cap = L::Set(a_.soft_cap);
      score = L::Multiply(cap, Tanh<L>(L::Divide(score, cap)));
    }
    if (a_.alibi_slopes == nullptr) return score;
    return L::MultiplyAdd(L::Set(a_.alibi_slopes[head]), L::Add(key, L::Set(static_cast<float>(distance))), score);
  }

  // A tile adds values together over the keys that all its rows see, and each row alone over the rest; rows without a
  // common key go one by one.
  template <int kRows, class Values>
  void ValueTile(int64_t first, const Values& values) {
    KeyRange common = seen_[first];
    for (int r = 1; r < kRows; ++r) {
      const KeyRange& seen = seen_[first + r];
      if (seen.first > common.first) common.first = seen.first;
      if (seen.end < common.end) common.end = seen.end;
    }
    if (common.first < common.end) return AddValues<kRows>(first, values, common);
    for (int64_t row = first; row < first + kRows; ++row) {
      if (seen_[row].first < seen_[row].end) AddValues<1>(row, values, seen_[row]);
    }
  }

  template <int kRows, class Values>
  void AddValues(int64_t first, const Values& values, KeyRange common) {
    constexpr int kColumns = L::kTileColumns;
    int64_t column = 0;
    for (; column + 16 * kColumns <= v_stride_; column += 16 * kColumns) {
      AddValueColumns<kRows, kColumns>(first, values.From(column), column, common);
    }
    for (; column < v_stride_; column += 16) AddValueColumns<kRows, 1>(first, values.From(column), column, common);
  }

  template <int kRows, int kColumns, class Values>
  void AddValueColumns(int64_t first, const Values& values, int64_t column, KeyRange common) {
    const float* weights[kRows];
    Float sums[kRows][kColumns];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = first + r;
      weights[r] = weights_ + row * kPageTokens;
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        sums[r][c] = L::Multiply(L::Load(sums_ + row * v_stride_ + column + 16 * c), L::Set(corrections_[row]));
      }
      Chain<L, 1, kColumns>(weights + r, values, seen_[row].first, common.first, sums + r);
    }
    Chain<L, kRows, kColumns>(weights, values, common.first, common.end, sums);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = first + r;
      Chain<L, 1, kColumns>(weights + r, values, common.end, seen_[row].end, sums + r);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) L::Store(sums_ + row * v_stride_ + column + 16 * c, sums[r][c]);
    }
  }

  void Finish() {
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t query = first_query_ + row / a_.group;
      const Float factor = L::Set(1.0f / totals_[row]);
      Map<L>(
          a_.shape.v_dim, a_.out + query * a_.out_stride + row % a_.group * a_.shape.v_dim,
          [factor](Float sum) { return L::Multiply(sum, factor); }, sums_ + row * v_stride_);
    }
  }

  const AttentionArguments& a_;
  int64_t first_query_, queries_, rows_, v_stride_;
  float* weights_;      // [rows][64] scores, then weights, of the page's keys
  float* sums_;         // [rows][v_stride] of values
  float* keys_;         // [k_dim][64] f32 copy of the page
  float* values_;       // [64][v_stride] f32 copy of the page
  float* maxima_;       // [rows] of scores
  float* totals_;       // [rows] of weights
  float* corrections_;  // [rows] for the page
  KeyRange* seen_;      // [rows] keys of the page
};

template <class L>
size_t AttentionScratchBytes(const PageShape& shape, int32_t group, int64_t queries) {
  return BlockAttention<L>::ScratchBytes(shape, group, queries);
}

template <class L>
void Attention(const AttentionArguments& a) {
  const int64_t step = BlockAttention<L>::MostQueries(a.group, a.queries);
  for (int64_t first = 0; first < a.queries; first += step) {
    BlockAttention<L>(a, first, a.queries - first < step ? a.queries - first : step).Run();
  }
}

}  // namespace inferd::kernels::lanes
