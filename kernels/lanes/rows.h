// Norms and element-wise kernels in 16 lanes; reference/norms.cc and elementwise.cc define them.
//
//   .rms_norm = lanes::RmsNorm<Lanes>,     // in the table of an instruction set, with its lanes.h
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/elementary.h"

namespace inferd::kernels::lanes {

// out[i] = function(x[i]...) in steps of 16 lanes; lanes behind the end hold zeros.
template <class L, class Function, class... Inputs>
inline void Map(int64_t n, float* out, const Function& function, const Inputs*... inputs) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) L::Store(out + i, function(L::Load(inputs + i)...));
  if (i < n) L::StoreFirst(out + i, n - i, function(L::LoadFirst(inputs + i, n - i)...));
}

template <class L>
inline float SumOfSquares(const float* x, int64_t n) {
  typename L::Float sum = L::Set(0.0f);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) sum = L::MultiplyAdd(L::Load(x + i), L::Load(x + i), sum);
  if (i < n) {
    const typename L::Float last = L::LoadFirst(x + i, n - i);
    sum = L::MultiplyAdd(last, last, sum);
  }
  return L::Sum(sum);
}

template <class L>
void RmsNorm(const float* x, const float* weight, float epsilon, int64_t n, float* out) {
  using Float = typename L::Float;
  const Float factor = L::Set(1.0f / L::SquareRoot(SumOfSquares<L>(x, n) / static_cast<float>(n) + epsilon));
  if (weight == nullptr) {
    Map<L>(
        n, out, [factor](Float value) { return L::Multiply(value, factor); }, x);
  } else {
    Map<L>(
        n, out, [factor](Float value, Float w) { return L::Multiply(L::Multiply(value, factor), w); }, x, weight);
  }
}

template <class L>
inline float Mean(const float* x, int64_t n) {
  typename L::Float sum = L::Set(0.0f);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) sum = L::Add(sum, L::Load(x + i));
  if (i < n) sum = L::Add(sum, L::LoadFirst(x + i, n - i));
  return L::Sum(sum) / static_cast<float>(n);
}

// Sum of (x - mean)^2; lanes behind the end add nothing.
template <class L>
inline float SumOfSquaredDistances(const float* x, float mean, int64_t n) {
  typename L::Float sum = L::Set(0.0f);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const typename L::Float distance = L::Subtract(L::Load(x + i), L::Set(mean));
    sum = L::MultiplyAdd(distance, distance, sum);
  }
  if (i < n) {
    const auto inside = L::Less(L::LaneNumbers(), L::Set(static_cast<float>(n - i)));
    const typename L::Float distance = L::Subtract(L::LoadFirst(x + i, n - i), L::Set(mean));
    sum = L::Select(inside, L::MultiplyAdd(distance, distance, sum), sum);
  }
  return L::Sum(sum);
}

template <class L>
void LayerNorm(const float* x, const float* weight, const float* bias, float epsilon, int64_t n, float* out) {
  using Float = typename L::Float;
  const float mean = Mean<L>(x, n);
  const float variance = SumOfSquaredDistances<L>(x, mean, n) / static_cast<float>(n);
  const Float center = L::Set(mean);
  const Float factor = L::Set(1.0f / L::SquareRoot(variance + epsilon));
  const auto normalize = [&](Float value) { return L::Multiply(L::Subtract(value, center), factor); };
  if (weight != nullptr && bias != nullptr) {
    Map<L>(
        n, out, [&](Float value, Float w, Float b) { return L::Add(L::Multiply(normalize(value), w), b); }, x, weight,
        bias);
  } else if (weight != nullptr) {
    Map<L>(
        n, out, [&](Float value, Float w) { return L::Multiply(normalize(value), w); }, x, weight);
  } else if (bias != nullptr) {
    Map<L>(
        n, out, [&](Float value, Float b) { return L::Add(normalize(value), b); }, x, bias);
  } else {
    Map<L>(n, out, normalize, x);
  }
}

template <class L>
void L2Norm(const float* x, float epsilon, int64_t n, float* out) {
  using Float = typename L::Float;
  const float length = L::SquareRoot(SumOfSquares<L>(x, n));
  const Float factor = L::Set(1.0f / (length < epsilon ? epsilon : length));
  Map<L>(
      n, out, [factor](Float value) { return L::Multiply(value, factor); }, x);
}

// Calls function.operator()<kind>() for a kind known at run time.
template <class Function>
inline void WithActivation(Activation kind, const Function& function) {
  switch (kind) {
    case Activation::kSilu:
      return function.template operator()<Activation::kSilu>();
    case Activation::kGeluTanh:
      return function.template operator()<Activation::kGeluTanh>();
    case Activation::kGeluHalf:
      return function.template operator()<Activation::kGeluHalf>();
    case Activation::kGeluErf:
      return function.template operator()<Activation::kGeluErf>();
    case Activation::kRelu:
      return function.template operator()<Activation::kRelu>();
    case Activation::kReluSquared:
      return function.template operator()<Activation::kReluSquared>();
    case Activation::kSigmoid:
      return function.template operator()<Activation::kSigmoid>();
    case Activation::kTanh:
      return function.template operator()<Activation::kTanh>();
    case Activation::kGeluQuick:
      return function.template operator()<Activation::kGeluQuick>();
    case Activation::kSoftplus:
      return function.template operator()<Activation::kSoftplus>();
    case Activation::kExp:
      return function.template operator()<Activation::kExp>();
  }
}

template <class L>
void ActivateRow(Activation kind, const float* x, int64_t n, float* out) {
  WithActivation(kind, [&]<Activation kKind>() {
    Map<L>(
        n, out, [](typename L::Float value) { return Activate<L, kKind>(value); }, x);
  });
}

template <class L>
void Gate(Activation kind, const float* gate, const float* up, int64_t n, float* out) {
  WithActivation(kind, [&]<Activation kKind>() {
    Map<L>(
        n, out, [](typename L::Float g, typename L::Float u) { return L::Multiply(Activate<L, kKind>(g), u); }, gate,
        up);
  });
}

template <class L>
void Add(const float* a, const float* b, int64_t n, float* out) {
  Map<L>(n, out, L::Add, a, b);
}

template <class L>
void Multiply(const float* a, const float* b, int64_t n, float* out) {
  Map<L>(n, out, L::Multiply, a, b);
}

template <class L>
void Scale(const float* x, float factor, int64_t n, float* out) {
  const typename L::Float by = L::Set(factor);
  Map<L>(
      n, out, [by](typename L::Float value) { return L::Multiply(value, by); }, x);
}

template <class L>
void AddScaled(const float* x, float factor, int64_t n, float* out) {
  using Float = typename L::Float;
  const Float by = L::Set(factor);
  Map<L>(
      n, out, [by](Float value, Float sum) { return L::MultiplyAdd(value, by, sum); }, x, out);
}

template <class L>
void SoftCap(const float* x, float cap, int64_t n, float* out) {
  using Float = typename L::Float;
  const Float limit = L::Set(cap);
  Map<L>(
      n, out, [limit](Float value) { return L::Multiply(limit, Tanh<L>(L::Divide(value, limit))); }, x);
}

}  // namespace inferd::kernels::lanes
