#include "engine/quantize/quantize_row.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "config/base/status.h"
#include "engine/quantize/block_quantizers.h"
#include "engine/quantize/half_scale.h"

namespace inferd::quantize {
namespace {

using kernels::TensorType;
using enum kernels::TensorType;

constexpr int kMostElements = 256;  // of a block
// No value is without importance: a column that no token of the text used may be used by another.
constexpr float kLeastImportance = 1e-4f;  // of the row's mean

struct TypeQuantizer {
  TensorType type;
  BlockQuantizer quantize;
};

constexpr TypeQuantizer kQuantizers[] = {
    {kQ4_0, QuantizeQ4_0},   {kQ4_1, QuantizeQ4_1},       {kQ5_0, QuantizeQ5_0},       {kQ5_1, QuantizeQ5_1},
    {kQ8_0, QuantizeQ8_0},   {kQ2_K, QuantizeQ2_K},       {kQ3_K, QuantizeQ3_K},       {kQ4_K, QuantizeQ4_K},
    {kQ5_K, QuantizeQ5_K},   {kQ6_K, QuantizeQ6_K},       {kIQ4_NL, QuantizeIQ4_NL},   {kIQ4_XS, QuantizeIQ4_XS},
    {kMXFP4, QuantizeMXFP4}, {kNVFP4, QuantizeNVFP4},     {kTQ1_0, QuantizeTQ1_0},     {kTQ2_0, QuantizeTQ2_0},
    {kIQ1_S, QuantizeIQ1_S}, {kIQ1_M, QuantizeIQ1_M},     {kIQ2_XXS, QuantizeIQ2_XXS}, {kIQ2_XS, QuantizeIQ2_XS},
    {kIQ2_S, QuantizeIQ2_S}, {kIQ3_XXS, QuantizeIQ3_XXS}, {kIQ3_S, QuantizeIQ3_S},
};

// nullptr for the float types.
BlockQuantizer QuantizerOf(TensorType type) {
  static_assert(std::size(kQuantizers) == kernels::kQuantizedTypes);
  for (const TypeQuantizer& entry : kQuantizers) {
    if (entry.type == type) return entry.quantize;
  }
  return nullptr;
}

float LargestValue(TensorType type) {
  if (type == kF32 || type == kBF16 || type == kMXFP4) return std::numeric_limits<float>::max();
  return type == kNVFP4 ? 2688.0f : kLargestHalf;  // 6 * 448
}

// To nearest even; a finite value stays finite.
uint16_t BfloatBits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((rounded & 0x7F80) == 0x7F80 ? bits >> 16 : rounded);
}

void ConvertRow(TensorType type, const float* x, int64_t k, uint8_t* out) {
  if (type == kF32) {
    std::memcpy(out, x, static_cast<size_t>(k) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < k; ++i) Put16(type == kF16 ? HalfBits(x[i]) : BfloatBits(x[i]), out + 2 * i);
}

// Importance relative to `mean` for one block.
void BlockImportance(const float* importance, double mean, int n, float* w) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(importance[i]);
  for (int i = 0; i < n; ++i) {
    w[i] = sum > 0 ? std::max(static_cast<float>(static_cast<double>(importance[i]) / mean), kLeastImportance) : 1.0f;
  }
}

}  // namespace

size_t RowBytes(TensorType type, int64_t k) {
  const kernels::TypeTraits& traits = kernels::TraitsOf(type);
  return static_cast<size_t>(k) / traits.block_elements * traits.block_bytes;
}

absl::Status CheckRow(TensorType type, const float* x, int64_t k) {
  const float largest = LargestValue(type);
  for (int64_t i = 0; i < k; ++i) {
    if (std::fabs(x[i]) <= largest) continue;
    if (!std::isfinite(x[i])) return InvalidArgument("value {} of the row is {}, expected a finite number", i, x[i]);
    return InvalidArgument("value {} of the row is {}, expected at most {}, the largest that {} can hold", i, x[i],
                           largest, kernels::TraitsOf(type).name);
  }
  return absl::OkStatus();
}

void QuantizeRow(TensorType type, const float* x, const float* importance, int64_t k, uint8_t* out) {
  const BlockQuantizer quantize = QuantizerOf(type);
  if (quantize == nullptr) return ConvertRow(type, x, k, out);
  const kernels::TypeTraits& traits = kernels::TraitsOf(type);
  const int elements = static_cast<int>(traits.block_elements);
  float w[kMostElements];
  std::fill(w, w + kMostElements, 1.0f);
  double mean = 0;
  for (int64_t i = 0; importance != nullptr && i < k; ++i) mean += static_cast<double>(importance[i]);
  mean /= static_cast<double>(k);
  for (int64_t i = 0; i < k; i += elements, out += traits.block_bytes) {
    if (importance != nullptr && mean > 0) BlockImportance(importance + i, mean, elements, w);
    quantize(x + i, w, out);
  }
}

}  // namespace inferd::quantize
