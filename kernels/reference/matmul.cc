// The matrix product: out[token][row] = sum over i of weights[row][i] * activations[token][i].
//
// Each output is made alone, by the same formula for one token and for a thousand:
//
//   float weights     Element i goes to lane i % 16 of 16 f32 lanes, ascending, by fma; then lanes i and i+8, i+4, i+2
//                     and i+1 are added (lane_sum.h).
//   32-element blocks acc = +0. For each block b, ascending:
//                       dot = sum of w[i] * q[i] over its 32 (kScale16: over each 16) elements, an exact integer
//                       acc = fma(weight scale, float(dot) * activation scale, acc)
//                       kScale32Added: acc = fma(added value, activation scaled_sum, acc)
//   256-element ones  acc = +0. For each block b, ascending:
//                       dot = sum of scales[j] * (sum of w[i] * q[i] over group j of 16), an exact int32
//                       kSuper: value = weight scale * float(dot)
//                       kSuperMinimum: low = sum of minimums[j] * (sum of q[i] over group j), an exact int32
//                       less = fma(weight minimum, kShiftedZero + low, -(weight minimum * kShiftedZero))
//                       value = fma(weight scale, float(dot), -less)
//                       acc = fma(activation scale, value, acc)
//
// less is minimum * low, rounded once, for every finite minimum that a half can hold, and +0 where that is 0.
//
// w are the integers of integer_block.h, q those of activations.h, float() rounds to nearest even. So one chain of f32
// runs along a row, which fits any register width with rows (or tokens) in the lanes; everything else is exact and may
// be added in any order: signed, biased to unsigned bytes, in 16- or 32-bit lanes. The largest |dot| of any type,
// 16 groups of 128 * 32 * 16 * 127 (Q6_K), stays below 2^28.
#include <cmath>

#include "kernels/activations.h"
#include "kernels/reference/bytes.h"
#include "kernels/reference/integer_block.h"
#include "kernels/reference/lane_sum.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::reference {
namespace {

int32_t Dot16(const int8_t* a, const int8_t* b) {
  int32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += a[i] * b[i];
  return sum;
}

float AddBlock32(ProductKind product, const IntegerBlock& weights, int first, const ActivationBlock32& y, float acc) {
  const float scale = weights.group_scales[first / 16];
  const int32_t dot0 = Dot16(weights.values + first, y.quants);
  const int32_t dot1 = Dot16(weights.values + first + 16, y.quants + 16);
  if (product == ProductKind::kScale16) {
    acc = std::fma(scale, static_cast<float>(dot0) * y.scale, acc);
    return std::fma(weights.group_scales[first / 16 + 1], static_cast<float>(dot1) * y.scale, acc);
  }
  acc = std::fma(scale, static_cast<float>(dot0 + dot1) * y.scale, acc);
  return product == ProductKind::kScale32Added ? std::fma(weights.added, y.scaled_sum, acc) : acc;
}

float AddBlock256(ProductKind product, const IntegerBlock& weights, const ActivationBlock256& y, float acc) {
  int32_t dot = 0, low = 0;
  for (int j = 0; j < 16; ++j) dot += weights.scales[j] * Dot16(weights.values + 16 * j, y.quants + 16 * j);
  if (product != ProductKind::kSuperMinimum) {
    return std::fma(y.scale, weights.scale * static_cast<float>(dot), acc);
  }
  for (int j = 0; j < 16; ++j) low += weights.minimums[j] * y.sums16[j];
  const float less =
      std::fma(weights.minimum, kShiftedZero + static_cast<float>(low), -(weights.minimum * kShiftedZero));
  return std::fma(y.scale, std::fma(weights.scale, static_cast<float>(dot), -less), acc);
}

float FloatProduct(TensorType type, const uint8_t* row, const float* x, int64_t k) {
  LaneSum sum;
  for (int64_t i = 0; i < k; ++i) {
    const float w = type == TensorType::kF32   ? LoadFloat(row + 4 * i)
                    : type == TensorType::kF16 ? LoadHalf(row + 2 * i)
                                               : LoadBfloat(row + 2 * i);
    sum.AddProduct(i, w, x[i]);
  }
  return sum.Total();
}

float Product(const WeightMatrix& weights, const uint8_t* row, const void* y) {
  const Unpacker unpack = UnpackerOf(weights.type);
  if (unpack == nullptr) return FloatProduct(weights.type, row, static_cast<const float*>(y), weights.k);
  const TypeTraits& traits = TraitsOf(weights.type);
  const ProductKind product = ProductOf(weights.type);
  IntegerBlock block;
  float acc = 0.0f;
  for (int64_t i = 0; i < weights.k; i += traits.block_elements, row += traits.block_bytes) {
    unpack(row, block);
    if (traits.activation == ActivationFormat::kBlock256) {
      acc = AddBlock256(product, block, static_cast<const ActivationBlock256*>(y)[i / 256], acc);
      continue;
    }
    for (int first = 0; first < static_cast<int>(traits.block_elements); first += 32) {
      acc = AddBlock32(product, block, first, static_cast<const ActivationBlock32*>(y)[(i + first) / 32], acc);
    }
  }
  return acc;
}

}  // namespace

size_t MatmulScratchBytes(TensorType, int64_t) { return 0; }

void Matmul(const MatmulArguments& arguments) {
  const WeightMatrix& weights = arguments.weights;
  const size_t activation_row_bytes = ActivationRowBytes(TraitsOf(weights.type).activation, weights.k);
  for (int64_t t = 0; t < arguments.tokens; ++t) {
    const int64_t source = arguments.activation_rows == nullptr ? t : arguments.activation_rows[t];
    const auto* y =
        static_cast<const uint8_t*>(arguments.activations) + static_cast<size_t>(source) * activation_row_bytes;
    for (int64_t r = arguments.row_begin; r < arguments.row_end; ++r) {
      const auto* row = static_cast<const uint8_t*>(weights.data) + static_cast<size_t>(r) * weights.row_bytes;
      arguments.out[t * arguments.out_stride + r] = Product(weights, row, y);
    }
  }
}

}  // namespace inferd::kernels::reference
