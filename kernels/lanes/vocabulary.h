// Softmax, argmax, top_k, log_sum_exp and all_finite in 16 lanes; reference/elementwise.cc and vocabulary.cc define
// them.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/elementary.h"
#include "kernels/lanes/rows.h"
#include "kernels/lanes/top_heap.h"

namespace inferd::kernels::lanes {

constexpr float kMinusInfinity = -__builtin_inff();

// x[i..i+15], or what is left of them with `filler` behind the end.
template <class L>
inline typename L::Float LoadOr(const float* x, int64_t n, int64_t i, float filler) {
  if (i + 16 <= n) return L::Load(x + i);
  const auto inside = L::Less(L::LaneNumbers(), L::Set(static_cast<float>(n - i)));
  return L::Select(inside, L::LoadFirst(x + i, n - i), L::Set(filler));
}

// The largest of n values, NaN left out; -infinity if there is no other.
template <class L>
inline float Largest(const float* x, int64_t n) {
  using Float = typename L::Float;
  // A comparison with NaN is false, so the first operand of Maximum may be NaN but never the result.
  Float best[4];
  for (Float& lane : best) lane = L::Set(kMinusInfinity);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (int j = 0; j < 4; ++j) best[j] = L::Maximum(L::Load(x + i + 16 * j), best[j]);
  }
  for (; i < n; i += 16) best[0] = L::Maximum(LoadOr<L>(x, n, i, kMinusInfinity), best[0]);
  return L::LargestOf(L::Maximum(L::Maximum(best[0], best[1]), L::Maximum(best[2], best[3])));
}

// Sum of e^(x - maximum) in 16 lanes; the terms go to `out` unless it is nullptr.
template <class L>
inline float SumOfExponentials(const float* x, float maximum, int64_t n, float* out) {
  using Float = typename L::Float;
  Float sum = L::Set(0.0f);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const Float term = Exp<L>(L::Subtract(L::Load(x + i), L::Set(maximum)));
    if (out != nullptr) L::Store(out + i, term);
    sum = L::Add(sum, term);
  }
  if (i < n) {
    const Float term = Exp<L>(L::Subtract(LoadOr<L>(x, n, i, kMinusInfinity), L::Set(maximum)));
    if (out != nullptr) L::StoreFirst(out + i, n - i, term);
    sum = L::Add(sum, term);
  }
  return L::Sum(sum);
}

template <class L>
void Softmax(const float* x, int64_t n, float* out) {
  const float sum = SumOfExponentials<L>(x, Largest<L>(x, n), n, out);
  const typename L::Float factor = L::Set(1.0f / sum);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) L::Store(out + i, L::Multiply(L::Load(out + i), factor));
  if (i < n) L::StoreFirst(out + i, n - i, L::Multiply(L::LoadFirst(out + i, n - i), factor));
}

// Finds the best block of 4096 first, then the place in it, so that the long pass only compares.
template <class L>
int32_t ArgMax(const float* x, int64_t n) {
  constexpr int64_t kBlock = 4096;
  int64_t best_block = -1;
  float best = kMinusInfinity;
  for (int64_t block = 0; block < n; block += kBlock) {
    const float largest = Largest<L>(x + block, n - block < kBlock ? n - block : kBlock);
    if (largest > best || best_block < 0) {
      best = largest;
      best_block = block;
    }
  }
  if (best == kMinusInfinity) best_block = 0;  // NaN counts as -infinity up to here: look everywhere
  for (int64_t i = best_block; i >= 0 && i < n; ++i) {
    if (x[i] == best) return static_cast<int32_t>(i);
  }
  return -1;
}

// Whether any of x[0..63] is larger than `least`.
template <class L>
inline bool AnyLarger(const float* x, float least) {
  const typename L::Float limit = L::Set(least);
  const auto first = L::Or(L::Less(limit, L::Load(x)), L::Less(limit, L::Load(x + 16)));
  const auto second = L::Or(L::Less(limit, L::Load(x + 32)), L::Less(limit, L::Load(x + 48)));
  return L::Any(L::Or(first, second));
}

template <class L>
int32_t TopK(const float* x, int64_t n, int32_t k, TopEntry* top) {
  if (k <= 0 || n <= 0) return 0;
  TopHeap<L> heap(static_cast<int32_t>(k < n ? k : n), top);
  int64_t i = heap.Start(x);
  for (; i + 64 <= n; i += 64) {
    const bool full_of_numbers = heap.Worst() == heap.Worst();
    if (full_of_numbers && !AnyLarger<L>(x + i, heap.Worst())) continue;
    for (int64_t j = i; j < i + 64; ++j) heap.Offer(x[j], static_cast<int32_t>(j));
  }
  for (; i < n; ++i) heap.Offer(x[i], static_cast<int32_t>(i));
  return heap.Finish();
}

template <class L>
float LogSumExp(const float* x, int64_t n) {
  const float maximum = Largest<L>(x, n);
  if (maximum == -kMinusInfinity) return __builtin_nanf("");
  if (maximum == kMinusInfinity) {  // nothing but -infinity and NaN
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] != x[i]) return x[i];
    }
    return maximum;
  }
  const float sum = SumOfExponentials<L>(x, maximum, n, nullptr);
  return static_cast<float>(static_cast<double>(maximum) + exact::Log(static_cast<double>(sum)));
}

template <class L>
bool AllFinite(const float* x, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    if (L::Any(L::NotFinite(L::Load(x + i)))) return false;
  }
  return i == n || !L::Any(L::NotFinite(L::LoadFirst(x + i, n - i)));
}

// Expert routing's rows.
template <class L>
struct RouterRows {
  static void Softmax(const float* x, int64_t n, float* out) { lanes::Softmax<L>(x, n, out); }
  static void Sigmoid(const float* x, int64_t n, float* out) { ActivateRow<L>(Activation::kSigmoid, x, n, out); }
  static int32_t TopK(const float* x, int64_t n, int32_t k, TopEntry* top) { return lanes::TopK<L>(x, n, k, top); }
};

}  // namespace inferd::kernels::lanes
