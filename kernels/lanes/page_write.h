// Writes tokens into pages in 16 lanes; reference/page.cc defines the values. K lies with its tokens innermost, so a
// token's elements are converted in lanes and then go out one by one, 64 elements apart.
#pragma once

#include "kernels/lanes/elementary.h"
#include "kernels/reference/page.h"
#include "kernels/sequence_arguments.h"

namespace inferd::kernels::lanes {

// out[i * step] = lanes[i]
template <class L, class T>
inline void Scatter(const T* lanes, int64_t count, int64_t step, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i * step] = lanes[i];
}

template <class L>
inline void WriteHalves(const float* x, int64_t dims, int64_t step, uint16_t* out) {
  for (int64_t d = 0; d < dims; d += 16) {
    const int64_t count = dims - d < 16 ? dims - d : 16;
    uint16_t halves[16];
    L::StoreHalf(halves, count == 16 ? L::Load(x + d) : L::LoadFirst(x + d, count));
    Scatter<L>(halves, count, step, out + d * step);
  }
}

template <class L>
inline void WriteQ8(const float* x, int64_t dims, int64_t step, int8_t* out, uint16_t* scales) {
  for (int64_t d = 0; d < dims; d += reference::kScaleDims) {
    const typename L::Float low = L::Load(x + d), high = L::Load(x + d + 16);
    const float scale = L::LargestOf(L::Maximum(Absolute<L>(low), Absolute<L>(high))) / 127.0f;
    uint16_t stored[16];
    L::StoreHalf(stored, L::Set(scale));
    scales[d / reference::kScaleDims * kPageTokens] = stored[0];
    const typename L::Float inverse = L::Set(stored[0] == 0 ? 0.0f : 1.0f / scale);
    int8_t quants[32];
    L::StoreInt8(quants, L::Multiply(low, inverse));
    L::StoreInt8(quants + 16, L::Multiply(high, inverse));
    Scatter<L>(quants, 32, step, out + d * step);
  }
}

// One row; element i goes to index first + i * step of `data`, the scales to index slot of theirs.
template <class L>
inline void WriteRow(CacheType type, const float* x, int64_t dims, char* data, int64_t first, int64_t step,
                     char* scales, int64_t slot) {
  switch (type) {
    case CacheType::kF32:
      return Scatter<L>(x, dims, step, reinterpret_cast<float*>(data) + first);
    case CacheType::kF16:
      return WriteHalves<L>(x, dims, step, reinterpret_cast<uint16_t*>(data) + first);
    case CacheType::kQ8_0:
      return WriteQ8<L>(x, dims, step, reinterpret_cast<int8_t*>(data) + first,
                        reinterpret_cast<uint16_t*>(scales) + slot);
  }
}

template <class L>
void WriteKv(const PageShape& shape, void* page, int32_t slot, int32_t tokens, const float* k, int64_t k_stride,
             const float* v, int64_t v_stride) {
  char* const base = static_cast<char*>(page);
  for (int32_t h = 0; h < shape.kv_heads; ++h) {
    const reference::PageOffsets offsets = reference::OffsetsOf(shape, h);
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t at = slot + t;
      WriteRow<L>(shape.type, k + t * k_stride + static_cast<int64_t>(h) * shape.k_dim, shape.k_dim, base + offsets.k,
                  at, kPageTokens, base + offsets.k_scales, at);
      WriteRow<L>(shape.type, v + t * v_stride + static_cast<int64_t>(h) * shape.v_dim, shape.v_dim, base + offsets.v,
                  at * shape.v_dim, 1, base + offsets.v_scales, at);
    }
  }
}

}  // namespace inferd::kernels::lanes
