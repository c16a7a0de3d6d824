// The layout of KV pages, and how tokens are written into them.
#include "kernels/reference/page.h"

#include <cmath>

#include "kernels/reference/half.h"
#include "kernels/reference/reference.h"

namespace inferd::kernels::reference {
namespace {

size_t RoundUp64(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t ElementBytes(CacheType type) {
  switch (type) {
    case CacheType::kF32:
      return 4;
    case CacheType::kF16:
      return 2;
    case CacheType::kQ8_0:
      return 1;
  }
  return 4;
}

// Bytes of one head's parts.
struct PageParts {
  size_t heads, k_head, v_head, k_scales_head, v_scales_head;
};
PageParts PartsOf(const PageShape& shape) {
  const bool scaled = shape.type == CacheType::kQ8_0;
  PageParts parts;
  parts.heads = static_cast<size_t>(shape.kv_heads);
  parts.k_head = ElementBytes(shape.type) * static_cast<size_t>(shape.k_dim) * kPageTokens;
  parts.v_head = ElementBytes(shape.type) * static_cast<size_t>(shape.v_dim) * kPageTokens;
  parts.k_scales_head = scaled ? sizeof(uint16_t) * kPageTokens * static_cast<size_t>(shape.k_dim / kScaleDims) : 0;
  parts.v_scales_head = scaled ? sizeof(uint16_t) * kPageTokens * static_cast<size_t>(shape.v_dim / kScaleDims) : 0;
  return parts;
}

// Element i of a head's row lies at data[i * step]; the scale of elements 32b..32b+31 at scales[b * 64].
struct Row {
  std::byte* data;
  std::byte* scales;
  int64_t step;
};

void WriteQ8Block(const float* x, int8_t* quants, int64_t step, uint16_t* scale) {
  float largest = 0.0f;
  for (int i = 0; i < kScaleDims; ++i) largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
  const float d = largest / 127.0f;
  *scale = HalfFromFloat(d);
  const float inverse = *scale == 0 ? 0.0f : 1.0f / d;
  for (int i = 0; i < kScaleDims; ++i) {
    quants[i * step] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
  }
}

void WriteRow(CacheType type, const float* x, int32_t dims, const Row& row) {
  switch (type) {
    case CacheType::kF32:
      for (int32_t i = 0; i < dims; ++i) reinterpret_cast<float*>(row.data)[i * row.step] = x[i];
      return;
    case CacheType::kF16:
      for (int32_t i = 0; i < dims; ++i) reinterpret_cast<uint16_t*>(row.data)[i * row.step] = HalfFromFloat(x[i]);
      return;
    case CacheType::kQ8_0:
      for (int32_t i = 0; i < dims; i += kScaleDims) {
        WriteQ8Block(x + i, reinterpret_cast<int8_t*>(row.data) + i * row.step, row.step,
                     reinterpret_cast<uint16_t*>(row.scales) + i / kScaleDims * kPageTokens);
      }
      return;
  }
}

}  // namespace

PageOffsets OffsetsOf(const PageShape& shape, int32_t kv_head) {
  const PageParts parts = PartsOf(shape);
  const size_t head = static_cast<size_t>(kv_head);
  PageOffsets offsets;
  offsets.k = head * parts.k_head;
  offsets.v = RoundUp64(parts.heads * parts.k_head) + head * parts.v_head;
  const size_t scales = RoundUp64(parts.heads * parts.k_head) + RoundUp64(parts.heads * parts.v_head);
  offsets.k_scales = scales + head * parts.k_scales_head;
  offsets.v_scales = scales + RoundUp64(parts.heads * parts.k_scales_head) + head * parts.v_scales_head;
  return offsets;
}

size_t PageBytes(const PageShape& shape) {
  return RoundUp64(OffsetsOf(shape, shape.kv_heads - 1).v_scales + PartsOf(shape).v_scales_head);
}

void WriteKv(const PageShape& shape, void* page, int32_t slot, int32_t tokens, const float* k, int64_t k_stride,
             const float* v, int64_t v_stride) {
  const int64_t element = static_cast<int64_t>(ElementBytes(shape.type));
  for (int32_t h = 0; h < shape.kv_heads; ++h) {
    const PageOffsets offsets = OffsetsOf(shape, h);
    std::byte* base = static_cast<std::byte*>(page);
    for (int32_t t = 0; t < tokens; ++t) {
      const int64_t at = slot + t;
      WriteRow(shape.type, k + t * k_stride + h * shape.k_dim, shape.k_dim,
               {base + offsets.k + at * element, base + offsets.k_scales + 2 * at, kPageTokens});
      WriteRow(shape.type, v + t * v_stride + h * shape.v_dim, shape.v_dim,
               {base + offsets.v + at * shape.v_dim * element, base + offsets.v_scales + 2 * at, 1});
    }
  }
}

}  // namespace inferd::kernels::reference
