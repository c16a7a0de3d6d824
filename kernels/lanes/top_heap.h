// The k first entries of a row in the order of Kernels::top_k: larger logit, then smaller id, NaN behind all numbers.
//
//   TopHeap<Ops> heap(k, top);                       // top has room for k entries, k >= 1
//   for (int64_t i = heap.Start(x); i < n; ++i) heap.Offer(x[i], i);
//   int32_t count = heap.Finish();
//
// A heap with the last of the kept entries at its root. A template so that each variant compiles its own.
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels {

template <class Ops>
class TopHeap {
 public:
  TopHeap(int32_t k, TopEntry* top) : count_(k), top_(top) {}

  // Takes the first k elements of x; returns k.
  int64_t Start(const float* x) {
    for (int32_t i = 0; i < count_; ++i) top_[i] = {x[i], i};
    for (int32_t i = count_ / 2 - 1; i >= 0; --i) SiftDown(count_, i);
    return count_;
  }

  void Offer(float logit, int32_t id) {
    const TopEntry entry = {logit, id};
    if (!Before(entry, top_[0])) return;
    top_[0] = entry;
    SiftDown(count_, 0);
  }

  // The last of the kept entries. While it is a number, of later ids only larger logits enter.
  float Worst() const { return top_[0].logit; }

  int32_t Finish() {
    for (int32_t last = count_ - 1; last > 0; --last) {
      const TopEntry entry = top_[0];
      top_[0] = top_[last];
      top_[last] = entry;
      SiftDown(last, 0);
    }
    return count_;
  }

 private:
  static bool Before(const TopEntry& a, const TopEntry& b) {
    const bool a_nan = a.logit != a.logit;
    const bool b_nan = b.logit != b.logit;
    if (a_nan != b_nan) return b_nan;
    if (!a_nan && a.logit != b.logit) return a.logit > b.logit;
    return a.id < b.id;
  }

  // Restores the heap of the first `count` entries after the one at `root` changed.
  void SiftDown(int32_t count, int32_t root) {
    const TopEntry moving = top_[root];
    for (int32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
      if (child + 1 < count && Before(top_[child], top_[child + 1])) ++child;
      if (!Before(moving, top_[child])) break;
      top_[root] = top_[child];
      root = child;
    }
    top_[root] = moving;
  }

  int32_t count_;
  TopEntry* top_;
};

}  // namespace inferd::kernels
