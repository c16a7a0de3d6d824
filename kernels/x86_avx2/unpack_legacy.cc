// Panels of the types with a float scale for each 32 elements.
#include "kernels/x86_avx2/blocks_legacy.h"

namespace inferd::kernels::avx2 {
namespace {

template <Layout kLayout>
void Unpack32(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  auto* out = static_cast<PanelBlock32*>(panel);
  const __m256i table = Iq4Table();
  const size_t half_stride = kHalfRows * stride;
  for (int64_t b = 0; b < blocks; ++b) {
    const uint8_t* block_rows = rows + static_cast<size_t>(b) * kLayout.bytes;
    CopyHeader<kLayout>(block_rows, stride, out[b].scale, out[b].second);
    CopyHeader<kLayout>(block_rows + half_stride, stride, out[b].scale + kHalfRows, out[b].second + kHalfRows);
  }
  for (int64_t b = 0; b < blocks; ++b, rows += kLayout.bytes) {
    PanelBlock32& block = out[b];
    next = Prefetch<kPanelRows * kLayout.bytes>(next);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m256i header = Load(block.scale, half), fifth_bits = Load(block.second, half);
      _mm256_store_ps(block.scale + 8 * half, LowHalves(header));
      if constexpr (kLayout.extra == Extra32::kAdded) _mm256_store_ps(block.second + 8 * half, HighHalves(header));
      ForEach16<kLayout>(
          rows + static_cast<size_t>(half) * half_stride, stride, fifth_bits,
          table, [&](int first, const __m256i(&values)[4]) __attribute__((always_inline)) {
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j) Store(block.values[first + j], half, values[j]);
          });
    }
  }
}

}  // namespace

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack32<kLayoutQ4_0>(rows, stride, blocks, next, panel);
}
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack32<kLayoutQ4_1>(rows, stride, blocks, next, panel);
}
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack32<kLayoutQ5_0>(rows, stride, blocks, next, panel);
}
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack32<kLayoutQ5_1>(rows, stride, blocks, next, panel);
}
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack32<kLayoutQ8_0>(rows, stride, blocks, next, panel);
}
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  Unpack32<kLayoutIQ4_NL>(rows, stride, blocks, next, panel);
}

}  // namespace inferd::kernels::avx2
