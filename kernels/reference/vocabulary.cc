// What is asked of the logits of a vocabulary: the best, the k best, and the logarithm of their softmax's sum.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/lanes/elementary.h"
#include "kernels/reference/lane_sum.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {
namespace {

// Whether a stands before b in the order of top_k: larger logit, then smaller id; NaN behind all numbers.
bool Before(const TopEntry& a, const TopEntry& b) {
  const bool a_nan = std::isnan(a.logit);
  const bool b_nan = std::isnan(b.logit);
  if (a_nan != b_nan) return b_nan;
  if (!a_nan && a.logit != b.logit) return a.logit > b.logit;
  return a.id < b.id;
}

// Restores a heap whose root, the last in order of its entries, was replaced.
void SiftDown(TopEntry* heap, int32_t count, int32_t root) {
  const TopEntry moving = heap[root];
  for (;;) {
    int32_t child = 2 * root + 1;
    if (child >= count) break;
    if (child + 1 < count && Before(heap[child], heap[child + 1])) ++child;
    if (!Before(moving, heap[child])) break;
    heap[root] = heap[child];
    root = child;
  }
  heap[root] = moving;
}

}  // namespace

int32_t ArgMax(const float* x, int64_t n) {
  int32_t best = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) continue;
    if (best < 0 || x[i] > x[best]) best = static_cast<int32_t>(i);
  }
  return best;
}

int32_t TopK(const float* x, int64_t n, int32_t k, TopEntry* top) {
  const int32_t count = static_cast<int32_t>(k < n ? k : n);
  if (count <= 0) return 0;
  for (int32_t i = 0; i < count; ++i) top[i] = {x[i], i};
  for (int32_t i = count / 2 - 1; i >= 0; --i) SiftDown(top, count, i);
  for (int64_t i = count; i < n; ++i) {
    const TopEntry entry = {x[i], static_cast<int32_t>(i)};
    if (!Before(entry, top[0])) continue;
    top[0] = entry;
    SiftDown(top, count, 0);
  }
  for (int32_t last = count - 1; last > 0; --last) {  // the root is the last in order of those that remain
    const TopEntry entry = top[0];
    top[0] = top[last];
    top[last] = entry;
    SiftDown(top, last, 0);
  }
  return count;
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
