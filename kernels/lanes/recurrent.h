// Recurrent kernels with channels or columns in 16 lanes; reference/recurrent.cc defines them.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/elementary.h"

namespace inferd::kernels::lanes {

// Calls body(offset, load, store) for each 16 lanes of a row of n floats, where load(p) and store(p, x) touch
// p[0..15], or only what is left of the row.
template <class L, class Body>
inline void ForEachLanes(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    body(i, L::Load, L::Store);
  }
  const int64_t rest = n - i;
  if (rest == 0) return;
  body(
      i, [rest](const float* p) { return L::LoadFirst(p, rest); },
      [rest](float* p, typename L::Float x) { L::StoreFirst(p, rest, x); });
}

template <class L>
void Convolve(const ConvolutionArguments& a) {
  using Float = typename L::Float;
  ForEachLanes<L>(a.channels, [&a](int64_t channel, auto load, auto store) {
    float* const state = a.state + channel;
    for (int64_t t = 0; t < a.tokens; ++t) {
      const Float x = load(a.x + t * a.x_stride + channel);
      Float sum = L::Set(0.0f);
      for (int32_t j = 0; j + 1 < a.width; ++j) {
        const Float past = load(state + j * a.stride);
        sum = L::MultiplyAdd(load(a.taps + j * a.stride + channel), past, sum);
        if (j > 0) store(state + (j - 1) * a.stride, past);
      }
      sum = L::MultiplyAdd(load(a.taps + (a.width - 1) * a.stride + channel), x, sum);
      store(state + (a.width - 2) * a.stride, x);
      if (a.bias != nullptr) sum = L::Add(sum, load(a.bias + channel));
      store(a.out + t * a.out_stride + channel, sum);
    }
  });
}

template <class L>
void MambaScan(const MambaArguments& a) {
  using Float = typename L::Float;
  ForEachLanes<L>(a.channels, [&a](int64_t channel, auto load, auto store) {
    for (int64_t t = 0; t < a.tokens; ++t) {
      const Float x = load(a.x + t * a.x_stride + channel);
      const Float dt = Softplus<L>(load(a.dt + t * a.dt_stride + channel));
      const Float input = L::Multiply(dt, x);
      Float sum = L::Set(0.0f);
      for (int32_t n = 0; n < a.states; ++n) {
        float* const state = a.state + n * a.stride + channel;
        const Float decay = Exp<L>(L::Multiply(dt, load(a.a + n * a.stride + channel)));
        const Float added = L::Multiply(input, L::Set(a.b[t * a.bc_stride + n]));
        const Float h = L::MultiplyAdd(decay, load(state), added);
        store(state, h);
        sum = L::MultiplyAdd(h, L::Set(a.c[t * a.bc_stride + n]), sum);
      }
      store(a.out + t * a.out_stride + channel, L::MultiplyAdd(load(a.d + channel), x, sum));
    }
  });
}

template <class L>
void Mamba2Scan(const Mamba2Arguments& a) {
  using Float = typename L::Float;
  for (int64_t t = 0; t < a.tokens; ++t) {
    const Float dt = Softplus<L>(L::Set(a.dt[t * a.dt_stride]));
    const Float decay = Exp<L>(L::Multiply(dt, L::Set(a.a)));
    ForEachLanes<L>(a.head_dim, [&](int64_t p, auto load, auto store) {
      const Float x = load(a.x + t * a.x_stride + p);
      const Float input = L::Multiply(dt, x);
      Float sum = L::Set(0.0f);
      for (int64_t n = 0; n < a.states; ++n) {
        float* const state = a.state + n * a.head_dim + p;
        const Float added = L::Multiply(L::Set(a.b[t * a.bc_stride + n]), input);
        const Float h = L::MultiplyAdd(decay, load(state), added);
        store(state, h);
        sum = L::MultiplyAdd(L::Set(a.c[t * a.bc_stride + n]), h, sum);
      }
      store(a.out + t * a.out_stride + p, L::MultiplyAdd(L::Set(a.d), x, sum));
    });
  }
}

// kColumns times 16 columns of a head's state, which stay in the first-level cache for all tokens. Several at once hide
// the latency of their chains.
template <class L, int kColumns, class Load, class Store>
inline void DeltaColumns(const DeltaArguments& a, int64_t column, const Load& load, const Store& store) {
  using Float = typename L::Float;
  float* const state = a.state + column;
  for (int64_t t = 0; t < a.tokens; ++t) {
    const float* const q = a.q + t * a.qk_stride;
    const float* const k = a.k + t * a.qk_stride;
    const Float decay = Exp<L>(L::Set(a.log_decay[t * a.gate_stride]));
    const Float beta = L::Set(a.beta[t * a.gate_stride]);
    Float sums[kColumns], deltas[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) sums[c] = L::Set(0.0f);
    for (int64_t row = 0; row < a.k_dim; ++row) {
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const Float decayed = L::Multiply(load(state + row * a.v_dim + 16 * c), decay);
        sums[c] = L::MultiplyAdd(L::Set(k[row]), decayed, sums[c]);
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      deltas[c] = L::Multiply(L::Subtract(load(a.v + t * a.v_stride + column + 16 * c), sums[c]), beta);
      sums[c] = L::Set(0.0f);
    }
    for (int64_t row = 0; row < a.k_dim; ++row) {
      const Float scaled = L::Set(q[row] * a.scale);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        float* const element = state + row * a.v_dim + 16 * c;
        const Float s = L::MultiplyAdd(L::Set(k[row]), deltas[c], L::Multiply(load(element), decay));
        store(element, s);
        sums[c] = L::MultiplyAdd(scaled, s, sums[c]);
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) store(a.out + t * a.out_stride + column + 16 * c, sums[c]);
  }
}

template <class L>
void DeltaRule(const DeltaArguments& a) {
  constexpr int kColumns = 4;
  int64_t first = 0;
  for (; first + 16 * kColumns <= a.v_dim; first += 16 * kColumns) {
    DeltaColumns<L, kColumns>(a, first, L::Load, L::Store);
  }
  ForEachLanes<L>(a.v_dim - first,
                  [&](int64_t i, auto load, auto store) { DeltaColumns<L, 1>(a, first + i, load, store); });
}

}  // namespace inferd::kernels::lanes
