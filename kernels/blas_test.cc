// Float products against OpenBLAS, an independent implementation whose order of additions differs.
#include <cblas.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/testing/weights.h"

namespace inferd::kernels {
namespace {

TEST(FloatMatmul, AgreesWithOpenBlas) {
  constexpr int kRows = 37, kTokens = 11;
  std::mt19937_64 random(1);
  for (const int k : {1, 15, 16, 333, 2048}) {
    for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
      const testing::Weights weights = testing::RandomWeights(type, kRows, k, random);
      std::vector<float> w(static_cast<size_t>(kRows * k)), x(static_cast<size_t>(kTokens * k));
      std::normal_distribution<float> normal;
      for (float& value : x) value = normal(random);
      SelectKernels("reference")->dequantize_row(type, weights.bytes.data(), kRows * k, w.data());
      std::vector<float> expected(kRows * kTokens);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kTokens, kRows, k, 1.0f, x.data(), k, w.data(), k, 0.0f,
                  expected.data(), kRows);
      for (const char* const* name = KernelVariants(); *name != nullptr; ++name) {
        const Kernels* kernels = SelectKernels(*name);
        if (kernels == nullptr) continue;
        const testing::AlignedBytes y = testing::Quantized(*kernels, ActivationFormat::kFloat, x, kTokens, k);
        testing::AlignedBytes scratch(kernels->matmul_scratch_bytes(type, k));
        std::vector<float> out(kRows * kTokens);
        kernels->matmul({.weights = weights.Matrix(),
                         .row_begin = 0,
                         .row_end = kRows,
                         .activations = y.data(),
                         .tokens = kTokens,
                         .out = out.data(),
                         .out_stride = kRows,
                         .scratch = scratch.data()});
        for (int t = 0; t < kTokens; ++t) {
          for (int r = 0; r < kRows; ++r) {
            double magnitude = 0;
            for (int i = 0; i < k; ++i) magnitude += std::fabs(double{w[r * k + i]} * x[t * k + i]);
            // Both sum k products in some order: each is at most k rounding errors of a partial sum away from the
            // truth.
            EXPECT_NEAR(out[t * kRows + r], expected[t * kRows + r], 2 * k * 0x1p-24 * magnitude + 1e-37)
                << *name << " " << TraitsOf(type).name << " k " << k;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
