// Matrix products and the formats of their operands: the definition that every variant follows bit by bit. See
// matmul.cc for the arithmetic and kernels.h for the arguments.
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels::reference {

size_t ActivationRowBytes(ActivationFormat format, int64_t k);
void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out);
size_t MatmulScratchBytes(TensorType type, int64_t k);
void Matmul(const MatmulArguments& arguments);
void DequantizeRow(TensorType type, const void* row, int64_t k, float* out);

}  // namespace inferd::kernels::reference
