// Products of the neon variant; see kernels.h.
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels::neon {

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out);
size_t MatmulScratchBytes(TensorType type, int64_t k);
void Matmul(const MatmulArguments& arguments);

// Matmul for weights of F32, F16 and BF16.
void FloatMatmul(const MatmulArguments& arguments);

}  // namespace inferd::kernels::neon
