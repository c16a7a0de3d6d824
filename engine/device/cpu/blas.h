// Products of f32 matrices by OpenBLAS, for the prefill of float weights where a configuration asks for it. The order
// of its additions depends on the processor and on the number of rows, so its bits do too.
//
//   ASSIGN_OR_RETURN(const Blas blas, Blas::Open());
//   blas.Multiply({x, tokens, k, x_stride}, {weights, rows, k, k}, out, out_stride);
//
// The library is opened when it is wanted: it starts threads and takes memory as soon as it is loaded.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace inferd::device {

// [rows][columns] f32, rows `stride` floats apart.
struct FloatMatrix {
  const float* data;
  int64_t rows, columns, stride;
};

class Blas {
 public:
  // FAILED_PRECONDITION if the machine has no OpenBLAS.
  static absl::StatusOr<Blas> Open();

  // out [x.rows][weights.rows] = x times the transpose of weights, in the calling thread alone.
  void Multiply(const FloatMatrix& x, const FloatMatrix& weights, float* out, int64_t out_stride) const;

 private:
  // cblas_sgemm, as cblas.h declares it.
  using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                         int lda, const float* b, int ldb, float beta, float* c, int ldc);

  explicit Blas(Sgemm sgemm) : sgemm_(sgemm) {}

  Sgemm sgemm_;
};

}  // namespace inferd::device
