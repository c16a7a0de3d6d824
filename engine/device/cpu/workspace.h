// The memory of a CPU device's passes: buffers sized once by the model and the largest batch, taken from the system and
// touched only as far as batches really reach (in steps of 2 MiB).
//
//   Workspace workspace;
//   ASSIGN_OR_RETURN(float* x, workspace.Take<float>(max_rows * width));    // zeroed, 64-byte aligned
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/cache/mapping.h"
#include "engine/device/cpu/thread_pool.h"
#include "kernels/kernels.h"

namespace inferd::device {

constexpr int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

class Workspace {
 public:
  template <typename T>
  absl::StatusOr<T*> Take(int64_t elements) {
    absl::StatusOr<cache::Mapping> mapping = cache::Mapping::Create(elements * static_cast<int64_t>(sizeof(T)) + 64);
    if (!mapping.ok()) return mapping.status();
    memory_.push_back(*std::move(mapping));
    return reinterpret_cast<T*>(memory_.back().data());
  }

 private:
  std::vector<cache::Mapping> memory_;
};

// What one thread writes while it works on an item.
struct ThreadScratch {
  void* matmul;
  float* blas;             // rows of float weights as f32; null unless OpenBLAS is used
  float *row, *other_row;  // [widest row]
  // Columns of an item of a product side by side, [tokens][rows of the item]: where they lie in whole rows, they are
  // far apart, mostly by a power of two, and push each other out of the caches.
  float *columns, *other_columns;
};

}  // namespace inferd::device
