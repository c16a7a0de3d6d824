// RoPE in 16 lanes; reference/position.cc defines it.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/elementary.h"

namespace inferd::kernels::lanes {

// One head whose pairs lie in two separate runs.
template <class L>
inline void RotateHalves(float* first, float* second, int64_t pairs, const float* table) {
  using Float = typename L::Float;
  const auto turn = [](Float& x, Float& y, Float cosine, Float sine) {
    const Float turned = L::MultiplyAdd(x, cosine, Negate<L>(L::Multiply(y, sine)));
    y = L::MultiplyAdd(y, cosine, L::Multiply(x, sine));
    x = turned;
  };
  int64_t i = 0;
  for (; i + 16 <= pairs; i += 16) {
    Float x = L::Load(first + i), y = L::Load(second + i);
    turn(x, y, L::Load(table + i), L::Load(table + pairs + i));
    L::Store(first + i, x);
    L::Store(second + i, y);
  }
  if (i < pairs) {
    const int64_t rest = pairs - i;
    Float x = L::LoadFirst(first + i, rest), y = L::LoadFirst(second + i, rest);
    turn(x, y, L::LoadFirst(table + i, rest), L::LoadFirst(table + pairs + i, rest));
    L::StoreFirst(first + i, rest, x);
    L::StoreFirst(second + i, rest, y);
  }
}

// One head whose pairs are neighbours; the compiler makes lanes of these independent operations.
template <class L>
inline void RotateNeighbours(float* head, int64_t pairs, const float* table) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float x = head[2 * i], y = head[2 * i + 1];
    head[2 * i] = __builtin_fmaf(x, table[i], -(y * table[pairs + i]));
    head[2 * i + 1] = __builtin_fmaf(y, table[i], x * table[pairs + i]);
  }
}

template <class L>
void Rope(float* heads, int64_t head_count, int64_t head_stride, int64_t rotated, RopePairing pairing,
          const float* table) {
  const int64_t pairs = rotated / 2;
  for (int64_t h = 0; h < head_count; ++h) {
    float* head = heads + h * head_stride;
    if (pairing == RopePairing::kHalves) {
      RotateHalves<L>(head, head + pairs, pairs, table);
    } else {
      RotateNeighbours<L>(head, pairs, table);
    }
  }
}

}  // namespace inferd::kernels::lanes
