#include "kernels/testing/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace inferd::kernels::testing {
namespace {

void RandomFloats(TensorType type, uint8_t* out, int64_t n, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < n; ++i) {
    const float x = normal(random);
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const uint16_t half = static_cast<uint16_t>((bits >> 16 & 0x8000u) | (random() % 0x4800));  // any |x| below 8
    switch (type) {
      case TensorType::kF32:
        std::memcpy(out + 4 * i, &x, 4);
        break;
      case TensorType::kF16:
        std::memcpy(out + 2 * i, &half, 2);
        break;
      default:
        std::memcpy(out + 2 * i, reinterpret_cast<const uint8_t*>(&bits) + 2, 2);
        break;
    }
  }
}

void RandomBlock(const TypeTraits& traits, uint8_t* out, std::mt19937_64& random) {
  const Kernels* reference = SelectKernels("reference");
  std::vector<float> values(traits.block_elements);
  do {
    for (uint32_t i = 0; i < traits.block_bytes; ++i) out[i] = static_cast<uint8_t>(random());
    reference->dequantize_row(traits.type, out, traits.block_elements, values.data());
  } while (!std::all_of(values.begin(), values.end(), [](float x) { return std::fabs(x) < 1e30f; }));
}

}  // namespace

Weights RandomWeights(TensorType type, int64_t rows, int64_t k, std::mt19937_64& random) {
  const TypeTraits& traits = TraitsOf(type);
  Weights weights{type, rows, k, traits.block_bytes * static_cast<size_t>(k / traits.block_elements), {}};
  weights.bytes.resize(static_cast<size_t>(rows) * weights.row_bytes);
  if (traits.activation == ActivationFormat::kFloat) {
    RandomFloats(type, weights.bytes.data(), rows * k, random);
    return weights;
  }
  for (size_t i = 0; i < weights.bytes.size(); i += traits.block_bytes) {
    RandomBlock(traits, weights.bytes.data() + i, random);
  }
  return weights;
}

std::vector<float> RandomActivations(int64_t rows, int64_t k, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(rows * k));
  for (int64_t r = 0; r < rows; ++r) {
    constexpr float kMagnitudes[] = {1.0f, 1.0f, 0.0f, 1e-41f, 1e5f, 1e-20f, 1.0f};
    const float magnitude = kMagnitudes[r % 7];
    for (int64_t i = 0; i < k; ++i) x[static_cast<size_t>(r * k + i)] = magnitude * normal(random);
    if (r % 7 == 6) x[static_cast<size_t>(r * k + k / 2)] = 1e4f;  // one outlier
  }
  return x;
}

AlignedBytes Quantized(const Kernels& kernels, ActivationFormat format, const std::vector<float>& x, int64_t rows,
                       int64_t k) {
  AlignedBytes out(static_cast<size_t>(rows) * kernels.activation_row_bytes(format, k));
  kernels.quantize_rows(format, x.data(), rows, k, out.data());
  return out;
}

std::vector<TensorType> AllTypes() {
  std::vector<TensorType> types;
  for (uint32_t id = 0; id < 64; ++id) {
    if (const TypeTraits* traits = FindTensorType(id)) types.push_back(traits->type);
  }
  return types;
}

}  // namespace inferd::kernels::testing
