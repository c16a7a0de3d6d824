// Norms: RMS (arXiv:1910.07467), layer (arXiv:1607.06450) and L2.
#include <cmath>

#include "kernels/reference/lane_sum.h"
#include "kernels/reference/reference.h"

namespace inferd::kernels::reference {
namespace {

float SumOfSquares(const float* x, int64_t n) {
  LaneSum sum;
  for (int64_t i = 0; i < n; ++i) sum.AddProduct(i, x[i], x[i]);
  return sum.Total();
}

}  // namespace

void RmsNorm(const float* x, const float* weight, float epsilon, int64_t n, float* out) {
  const float factor = 1.0f / std::sqrt(SumOfSquares(x, n) / static_cast<float>(n) + epsilon);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = x[i] * factor;
    if (weight != nullptr) out[i] = out[i] * weight[i];
  }
}

void LayerNorm(const float* x, const float* weight, const float* bias, float epsilon, int64_t n, float* out) {
  LaneSum sum;
  for (int64_t i = 0; i < n; ++i) sum.Add(i, x[i]);
  const float mean = sum.Total() / static_cast<float>(n);
  LaneSum squares;
  for (int64_t i = 0; i < n; ++i) squares.AddProduct(i, x[i] - mean, x[i] - mean);
  const float factor = 1.0f / std::sqrt(squares.Total() / static_cast<float>(n) + epsilon);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = (x[i] - mean) * factor;
    if (weight != nullptr) out[i] = out[i] * weight[i];
    if (bias != nullptr) out[i] = out[i] + bias[i];
  }
}

void L2Norm(const float* x, float epsilon, int64_t n, float* out) {
  const float length = std::sqrt(SumOfSquares(x, n));
  const float factor = 1.0f / (length < epsilon ? epsilon : length);
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

}  // namespace inferd::kernels::reference
