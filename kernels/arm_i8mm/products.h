// Products of the neon_i8mm variant; see kernels.h.
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels::i8mm {

size_t MatmulScratchBytes(TensorType type, int64_t k);
void Matmul(const MatmulArguments& arguments);
int64_t Int8Peak(int64_t rounds, float* sink);

}  // namespace inferd::kernels::i8mm
