// Panels of Q4_K, Q5_K and Q6_K.
#include "kernels/x86_avx2/blocks_k.h"

namespace inferd::kernels::avx2 {
namespace {

template <typename Type>
void Unpack256(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  for (int64_t b = 0; b < blocks; ++b, rows += Type::kBytes) {
    PanelBlock256& block = static_cast<PanelBlock256*>(panel)[b];
    for (int half = 0; half < 2; ++half) {
      const uint8_t* half_rows = rows + static_cast<size_t>(half) * kHalfRows * stride;
      Type::LoadScales(half_rows, stride, half, block);
      next = Type::ForEach16(
          half_rows, stride, next, [&](int first, const __m256i(&values)[4]) __attribute__((always_inline)) {
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j) Store(block.values[first + j], half, values[j]);
          });
    }
  }
}

}  // namespace

void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q4_K>(rows, stride, blocks, next, panel);
}
void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q5_K>(rows, stride, blocks, next, panel);
}
void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack256<Q6_K>(rows, stride, blocks, next, panel);
}

}  // namespace inferd::kernels::avx2
