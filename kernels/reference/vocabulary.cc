// What is asked of the logits of a vocabulary: the best, the k best, and the logarithm of their softmax's sum.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/lanes/elementary.h"
#include "kernels/lanes/top_heap.h"
#include "kernels/reference/lane_sum.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {

int32_t ArgMax(const float* x, int64_t n) {
  int32_t best = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) continue;
    if (best < 0 || x[i] > x[best]) best = static_cast<int32_t>(i);
  }
  return best;
}

int32_t TopK(const float* x, int64_t n, int32_t k, TopEntry* top) {
  if (k <= 0 || n <= 0) return 0;
  TopHeap<Scalar> heap(static_cast<int32_t>(k < n ? k : n), top);
  for (int64_t i = heap.Start(x); i < n; ++i) heap.Offer(x[i], static_cast<int32_t>(i));
  return heap.Finish();
}

float LogSumExp(const float* x, int64_t n) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return x[i];
    maximum = maximum < x[i] ? x[i] : maximum;
  }
  if (std::isinf(maximum)) return maximum < 0 ? maximum : std::numeric_limits<float>::quiet_NaN();
  LaneSum sum;
  for (int64_t i = 0; i < n; ++i) sum.Add(i, Exp<Scalar>(x[i] - maximum));
  return static_cast<float>(static_cast<double>(maximum) + exact::Log(static_cast<double>(sum.Total())));
}

bool AllFinite(const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if ((std::bit_cast<uint32_t>(x[i]) & 0x7F800000u) == 0x7F800000u) return false;
  }
  return true;
}

}  // namespace inferd::kernels::reference
