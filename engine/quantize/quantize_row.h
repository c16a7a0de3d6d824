// Rows of floats to any type that a file may hold: the inverse of the kernels' dequantize_row, with the least error
// weighted by importance that the search of each type finds.
//
//   std::vector<uint8_t> row(RowBytes(TensorType::kQ4_K, k));
//   RETURN_IF_ERROR(CheckRow(TensorType::kQ4_K, x, k));
//   QuantizeRow(TensorType::kQ4_K, x, nullptr, k, row.data());
//
// The bytes depend on the values, the importance and the type alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/quant_types.h"

namespace inferd::quantize {

size_t RowBytes(kernels::TensorType type, int64_t k);

// INVALID_ARGUMENT for a value that the type cannot hold: not finite, or beyond its scales.
absl::Status CheckRow(kernels::TensorType type, const float* x, int64_t k);

// x: a row that CheckRow accepts; k: a multiple of the type's block. importance: of each of the k columns (mean of the
// squared activations), finite, not negative; nullptr: all alike. Values of a block without any importance count alike.
void QuantizeRow(kernels::TensorType type, const float* x, const float* importance, int64_t k, uint8_t* out);

}  // namespace inferd::quantize
