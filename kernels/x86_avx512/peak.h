// How fast this instruction set can multiply at best; the contracts stand at the entries of kernels.h.
#pragma once

#include <cstdint>

namespace inferd::kernels::avx512 {

int64_t Int8Peak(int64_t rounds, float* sink);
int64_t FloatPeak(int64_t rounds, float* sink);

}  // namespace inferd::kernels::avx512
