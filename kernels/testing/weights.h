// Random weights and activations for the tests and benchmarks of products.
//
//   Weights w = RandomWeights(TensorType::kQ4_K, /*rows=*/40, /*k=*/512, random);
//   k.matmul({.weights = w.Matrix(), ...});
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/kernels.h"

namespace inferd::kernels::testing {

// Memory at 64-byte alignment that ends exactly at its size, so that sanitizers see a read beyond it.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size) : bytes_(size + 64) {}
  uint8_t* data() { return bytes_.data() + Gap(); }
  const uint8_t* data() const { return bytes_.data() + Gap(); }

 private:
  size_t Gap() const { return 64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64; }

  std::vector<uint8_t> bytes_;
};

struct Weights {
  TensorType type;
  int64_t rows, k;
  size_t row_bytes;
  std::vector<uint8_t> bytes;
  WeightMatrix Matrix() const { return {type, bytes.data(), rows, k, row_bytes}; }
};

// Every bit pattern of a block that stands for finite values may come, large and subnormal scales among them; floats
// are of normal distribution.
Weights RandomWeights(TensorType type, int64_t rows, int64_t k, std::mt19937_64& random);

// rows x k floats of normal distribution, with rows of zeros, subnormals and very different magnitudes among them.
std::vector<float> RandomActivations(int64_t rows, int64_t k, std::mt19937_64& random);

// The rows quantized by `kernels`.
AlignedBytes Quantized(const Kernels& kernels, ActivationFormat format, const std::vector<float>& x, int64_t rows,
                       int64_t k);

// All types that have a product.
std::vector<TensorType> AllTypes();

}  // namespace inferd::kernels::testing
