// Activations, gating, sums and the softmax of a row.
#include <cmath>
#include <limits>

#include "kernels/lanes/elementary.h"
#include "kernels/reference/lane_sum.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {
namespace {

float ActivateOne(Activation kind, float x) {
  switch (kind) {
    case Activation::kSilu:
      return Activate<Scalar, Activation::kSilu>(x);
    case Activation::kGeluTanh:
      return Activate<Scalar, Activation::kGeluTanh>(x);
    case Activation::kGeluHalf:
      return Activate<Scalar, Activation::kGeluHalf>(x);
    case Activation::kGeluErf:
      return Activate<Scalar, Activation::kGeluErf>(x);
    case Activation::kRelu:
      return Activate<Scalar, Activation::kRelu>(x);
    case Activation::kReluSquared:
      return Activate<Scalar, Activation::kReluSquared>(x);
    case Activation::kSigmoid:
      return Activate<Scalar, Activation::kSigmoid>(x);
    case Activation::kTanh:
      return Activate<Scalar, Activation::kTanh>(x);
    case Activation::kGeluQuick:
      return Activate<Scalar, Activation::kGeluQuick>(x);
    case Activation::kSoftplus:
      return Activate<Scalar, Activation::kSoftplus>(x);
    case Activation::kExp:
      return Activate<Scalar, Activation::kExp>(x);
  }
  return x;
}

}  // namespace

void ActivateRow(Activation kind, const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = ActivateOne(kind, x[i]);
}

void Gate(Activation kind, const float* gate, const float* up, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = ActivateOne(kind, gate[i]) * up[i];
}

void Add(const float* a, const float* b, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void Multiply(const float* a, const float* b, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] * b[i];
}

void Scale(const float* x, float factor, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

void AddScaled(const float* x, float factor, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::fma(x[i], factor, out[i]);
}

void SoftCap(const float* x, float cap, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = cap * Tanh<Scalar>(x[i] / cap);
}

void Softmax(const float* x, int64_t n, float* out) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) maximum = maximum < x[i] ? x[i] : maximum;
  LaneSum sum;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = Exp<Scalar>(x[i] - maximum);
    sum.Add(i, out[i]);
  }
  const float factor = 1.0f / sum.Total();
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] * factor;
}

}  // namespace inferd::kernels::reference
