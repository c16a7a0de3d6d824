#include "engine/device/cpu/products.h"

#include <algorithm>
#include <cstddef>

namespace inferd::device {
namespace {

constexpr int64_t kManyTokens = 32;  // from here on a matrix product reads its weights seldom enough to be large
constexpr int64_t kMostRowsOfMany = 64, kMostRowsOfFew = 1024;

}  // namespace

void Products::Store(const Activations& activations, int64_t row, const float* x) const {
  for (kernels::ActivationFormat format : Formats::kAll) {
    if (!activations.formats.Has(format)) continue;
    auto* data = static_cast<std::byte*>(activations.data[static_cast<size_t>(format)]);
    k_.quantize_rows(format, x, 1, activations.k, data + row * k_.activation_row_bytes(format, activations.k));
  }
}

void Products::MultiplyRows(const Activations& activations, const int32_t* activation_rows, int64_t tokens,
                            const model::Linear& linear, int64_t row_begin, int64_t row_end, float* out, int64_t stride,
                            int32_t thread, const void* next) const {
  const kernels::ActivationFormat format = kernels::TraitsOf(linear.weights.type).activation;
  if (blas_ && format == kernels::ActivationFormat::kFloat && tokens >= kManyTokens && activation_rows == nullptr) {
    MultiplyByBlas(activations, tokens, linear.weights, row_begin, row_end, out, stride, thread);
  } else {
    k_.matmul({.weights = linear.weights,
               .row_begin = row_begin,
               .row_end = row_end,
               .activations = activations.data[static_cast<size_t>(format)],
               .activation_rows = activation_rows,
               .tokens = tokens,
               .out = out,
               .out_stride = stride,
               .scratch = scratch_[thread].matmul,
               .next = next});
  }
  if (linear.scale == nullptr && linear.bias == nullptr) return;
  const int64_t n = row_end - row_begin;
  for (int64_t token = 0; token < tokens; ++token) {
    float* y = out + token * stride + row_begin;
    if (linear.scale != nullptr) k_.scale(y, *linear.scale, n, y);
    if (linear.bias != nullptr) k_.add(y, linear.bias + row_begin, n, y);
  }
}

void Products::MultiplyByBlas(const Activations& activations, int64_t tokens, const kernels::WeightMatrix& weights,
                              int64_t row_begin, int64_t row_end, float* out, int64_t stride, int32_t thread) const {
  constexpr auto kFloat = kernels::ActivationFormat::kFloat;
  const auto row_floats = static_cast<int64_t>(k_.activation_row_bytes(kFloat, weights.k) / sizeof(float));
  const FloatMatrix x{static_cast<const float*>(activations.data[static_cast<size_t>(kFloat)]), tokens, weights.k,
                      row_floats};
  float* const rows = scratch_[thread].blas;
  for (int64_t begin = row_begin; begin < row_end; begin += kBlasRows) {
    const int64_t count = std::min(kBlasRows, row_end - begin);
    for (int64_t row = 0; row < count; ++row) {
      const auto* data =
          static_cast<const std::byte*>(weights.data) + static_cast<size_t>(begin + row) * weights.row_bytes;
      k_.dequantize_row(weights.type, data, weights.k, rows + row * weights.k);
    }
    blas_->Multiply(x, {rows, count, weights.k, weights.k}, out + begin, stride);
  }
}

int64_t Products::RowsPerItem(int64_t rows, int64_t tokens, int32_t threads) {
  constexpr int64_t kItemsPerThread = 4, kLeast = 2 * kernels::kRowGroup;
  const int64_t even = rows / (kItemsPerThread * threads) / kernels::kRowGroup * kernels::kRowGroup;
  if (tokens < kManyTokens) return std::clamp<int64_t>(even, kLeast, kMostRowsOfFew);
  // An item takes long: as large as it can be without some threads waiting for the others' last one.
  const auto longest = [&](int64_t step) { return RoundUp(RoundUp(rows, step) / step, threads) * step; };
  return longest(kLeast) < longest(kMostRowsOfMany) ? kLeast : kMostRowsOfMany;
}

int64_t Products::MostOfItem(int64_t most_tokens) {
  return std::max(most_tokens * kMostRowsOfMany, std::min(most_tokens, kManyTokens - 1) * kMostRowsOfFew);
}

}  // namespace inferd::device
