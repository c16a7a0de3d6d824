// What is asked of rows of logits, a block for each row: softmax, the best, the k best, the parts of log_sum_exp.
// kernels/reference/vocabulary.cc and elementwise.cc define them.
//
//   TopK<<<rows, kVocabularyThreads>>>(logits, n_vocab, k, top);     // top [rows][k]
#pragma once

#include "kernels/gpu/lane_ops.h"
#include "kernels/gpu/row_sum.h"

namespace inferd::kernels::gpu {

constexpr int kVocabularyThreads = 512;
constexpr int kTermsAtOnce = 4 * kVocabularyThreads;

// Sum of e^(x[i] - maximum) in 16 lanes: all threads make the terms, 16 add them. `out` gets the terms unless nullptr.
GPU_DEVICE float SumOfExponentials(const float* x, float maximum, int64_t n, float* out) {
  GPU_SHARED(float, terms, [kTermsAtOnce]);
  GPU_SHARED(float, lanes, [kSumLanes]);
  float sum = 0.0f;
  for (int64_t first = 0; first < n; first += kTermsAtOnce) {
    const int count = static_cast<int>(n - first < kTermsAtOnce ? n - first : kTermsAtOnce);
    for (int i = Thread(); i < count; i += kVocabularyThreads) {
      terms[i] = Exp<LaneOps>(x[first + i] - maximum);
      if (out != nullptr) out[first + i] = terms[i];
    }
    SyncThreads();
    if (Thread() < kSumLanes) {
      for (int i = Thread(); i < count; i += kSumLanes) sum = sum + terms[i];
    }
    SyncThreads();
  }
  if (Thread() < kSumLanes) lanes[Thread()] = sum;
  SyncThreads();
  return TreeOf(lanes);
}

GPU_KERNEL(kVocabularyThreads, Softmax, const float* x, int64_t n, float* out) {
  const float* const row = x + BlockX() * n;
  float* const out_row = out + BlockX() * n;
  const float maximum = LargestOf<kVocabularyThreads>(n, [=](int64_t i) { return row[i]; });
  const float sum = SumOfExponentials(row, maximum, n, out_row);
  const float factor = Divide(1.0f, sum);
  for (int64_t i = Thread(); i < n; i += kVocabularyThreads) out_row[i] = Multiply(out_row[i], factor);
}

// The maximum and the sum of e^(x - maximum), of which the host makes log_sum_exp in double. parts [rows][2].
GPU_KERNEL(kVocabularyThreads, LogSumExpParts, const float* x, int64_t n, float* parts) {
  const float* const row = x + BlockX() * n;
  const float maximum = LargestOf<kVocabularyThreads>(n, [=](int64_t i) { return row[i]; });
  const float sum = SumOfExponentials(row, maximum, n, nullptr);
  if (Thread() != 0) return;
  parts[2 * BlockX()] = maximum;
  parts[2 * BlockX() + 1] = sum;
}

// Whether a comes before b in the order of Kernels::top_k: larger logit, then smaller id, NaN behind all numbers. No
// entry has the id -1, which is behind all.
GPU_DEVICE bool Before(TopEntry a, TopEntry b) {
  if (a.id < 0 || b.id < 0) return b.id < 0 && a.id >= 0;
  const bool a_nan = a.logit != a.logit, b_nan = b.logit != b.logit;
  if (a_nan != b_nan) return b_nan;
  if (!a_nan && a.logit != b.logit) return a.logit > b.logit;
  return a.id < b.id;
}

GPU_DEVICE TopEntry BestOfBlock(TopEntry best) {
  GPU_SHARED(TopEntry, bests, [kVocabularyThreads / kWarpLanes]);
  for (int mask = kWarpLanes / 2; mask > 0; mask /= 2) {
    const TopEntry other = {ShuffleXor(best.logit, mask), ShuffleXor(best.id, mask)};
    if (Before(other, best)) best = other;
  }
  if (Lane() == 0) bests[Warp()] = best;
  SyncThreads();
  for (int i = 0; i < kVocabularyThreads / kWarpLanes; ++i) {
    if (Before(bests[i], best)) best = bests[i];
  }
  SyncThreads();
  return best;
}

// Entry after entry: the first one behind the last. k is small beside n. k <= n.
GPU_KERNEL(kVocabularyThreads, TopK, const float* x, int64_t n, int32_t k, TopEntry* top) {
  const float* const row = x + BlockX() * n;
  TopEntry last = {0, -1};
  for (int32_t round = 0; round < k; ++round) {
    TopEntry best = {0, -1};
    for (int64_t i = Thread(); i < n; i += kVocabularyThreads) {
      const TopEntry entry = {row[i], static_cast<int32_t>(i)};
      if ((round == 0 || Before(last, entry)) && Before(entry, best)) best = entry;
    }
    last = BestOfBlock(best);
    if (Thread() == 0) top[static_cast<int64_t>(BlockX()) * k + round] = last;
  }
}

// ids [rows]; -1 where all are NaN.
GPU_KERNEL(kVocabularyThreads, ArgMax, const float* x, int64_t n, int32_t* ids) {
  const float* const row = x + BlockX() * n;
  TopEntry best = {0, -1};
  for (int64_t i = Thread(); i < n; i += kVocabularyThreads) {
    const TopEntry entry = {row[i], static_cast<int32_t>(i)};
    if (entry.logit == entry.logit && Before(entry, best)) best = entry;
  }
  best = BestOfBlock(best);
  if (Thread() == 0) ids[BlockX()] = best.id;
}

}  // namespace inferd::kernels::gpu
