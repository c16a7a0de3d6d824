// What spans of keys give, merged in ascending order; reference/attention.cc defines it.
//
//   MergeRow<Lanes>({maximum, total, sums}, v_stride, {&merged_maximum, &merged_total, merged_sums});
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/elementary.h"
#include "kernels/lanes/rows.h"

namespace inferd::kernels::lanes {

// One row of one span; its total is 0 where the row sees no key of it.
struct SpanRow {
  float maximum, total;
  const float* sums;  // [v_stride]
};

// The spans before it; their total is 0 while there are none.
struct MergedRow {
  float *maximum, *total;
  float* sums;  // [v_stride]
};

template <class L>
inline void MergeRow(const SpanRow& next, int64_t v_stride, const MergedRow& merged) {
  using Float = typename L::Float;
  if (next.total == 0.0f) return;
  if (*merged.total == 0.0f) {
    *merged.maximum = next.maximum;
    *merged.total = next.total;
    for (int64_t i = 0; i < v_stride; i += 16) L::Store(merged.sums + i, L::Load(next.sums + i));
    return;
  }
  const float largest = *merged.maximum < next.maximum ? next.maximum : *merged.maximum;
  const Float before = Exp<L>(L::Set(*merged.maximum - largest)), after = Exp<L>(L::Set(next.maximum - largest));
  float totals[16];
  L::Store(totals, L::MultiplyAdd(L::Set(*merged.total), before, L::Multiply(L::Set(next.total), after)));
  *merged.maximum = largest;
  *merged.total = totals[0];
  for (int64_t i = 0; i < v_stride; i += 16) {
    const Float values = L::Multiply(L::Load(next.sums + i), after);
    L::Store(merged.sums + i, L::MultiplyAdd(L::Load(merged.sums + i), before, values));
  }
}

template <class L>
void MergeSpans(const AttentionArguments& a, int64_t spans, const float* states) {
  const int64_t stride = SpanStateFloats(a.shape.v_dim), rows = a.queries * a.group;
  float* const sums = static_cast<float*>(a.scratch);
  for (int64_t row = 0; row < rows; ++row) {
    float maximum = 0.0f, total = 0.0f;
    for (int64_t span = 0; span < spans; ++span) {
      const float* const state = states + (span * rows + row) * stride;
      MergeRow<L>({state[0], state[1], state + 16}, stride - 16, {&maximum, &total, sums});
    }
    Scale<L>(sums, 1.0f / total, a.shape.v_dim, a.out + row / a.group * a.out_stride + row % a.group * a.shape.v_dim);
  }
}

}  // namespace inferd::kernels::lanes
