// What all blocks compute with: kernels, threads and what each of them writes, and work on single rows.
//
//   Processor processor(kernels, /*threads=*/2);
//   RETURN_IF_ERROR(processor.Allocate(weights.linears, widest_row, most_rows));
//   processor.ForRows(rows, [&](int64_t row, int32_t thread) { processor.StoreRow(norm, x + row * n, row, out, thread);
//   });
//
// Work on single rows (norms, quantization, RoPE) of a small batch is done by the caller alone, which is faster than
// waking anybody.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/device/cpu/products.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/device/cpu/workspace.h"
#include "engine/model/weights.h"
#include "kernels/kernels.h"

namespace inferd::device {

class Processor {
 public:
  static constexpr int64_t kAlone = 2;  // rows that the caller handles alone

  // `matrices`: all that will be multiplied by.
  Processor(const kernels::Kernels& k, int32_t threads, std::span<const kernels::WeightMatrix> matrices);

  // What threads write, for rows of up to `widest_row` floats and batches of up to `most_rows`.
  absl::Status Allocate(int64_t widest_row, int64_t most_rows);
  // From now on, products of many tokens with float weights are OpenBLAS's.
  absl::Status UseBlas();

  const kernels::Kernels& kernels() const { return k_; }
  ThreadPool& pool() { return pool_; }
  const ThreadPool& pool() const { return pool_; }
  const Products& products() const { return products_; }
  const ThreadScratch& scratch(int32_t thread) const { return scratch_[thread]; }

  // Rows of up to `widest` elements, in each format that some matrix takes.
  absl::StatusOr<Activations> TakeActivations(Workspace& workspace, int64_t rows, int64_t widest) const;

  // task(row, thread) for each row.
  template <typename Task>
  void ForRows(int64_t rows, Task task) {
    constexpr int64_t kTogether = 4;
    if (rows <= kAlone) {
      for (int64_t row = 0; row < rows; ++row) task(row, 0);
      return;
    }
    pool_.Run((rows + kTogether - 1) / kTogether, [&](int64_t item, int32_t thread) {
      const int64_t end = std::min(rows, (item + 1) * kTogether);
      for (int64_t row = item * kTogether; row < end; ++row) task(row, thread);
    });
  }

  void ApplyNorm(const model::Norm& norm, const float* x, int64_t n, float* out) const;
  // norm(x) where it is present, in the formats that `out` has.
  void StoreRow(const model::Norm& norm, const float* x, int64_t row, const Activations& out, int32_t thread) const;

 private:
  const kernels::Kernels& k_;
  const std::span<const kernels::WeightMatrix> matrices_;
  ThreadPool pool_;
  std::vector<ThreadScratch> scratch_;
  Products products_;
  Workspace workspace_;
};

}  // namespace inferd::device
