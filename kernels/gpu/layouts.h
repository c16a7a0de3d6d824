// How the host describes memory to kernels.
//
//   SpanArguments a{.layout = LayoutOf(shape), ...};
#pragma once

#include "kernels/gpu/arguments.h"
#include "kernels/reference/page.h"

namespace inferd::kernels::gpu {

inline PageLayout LayoutOf(const PageShape& shape) {
  const reference::PageOffsets first = reference::OffsetsOf(shape, 0), next = reference::OffsetsOf(shape, 1);
  const auto difference = [](size_t from, size_t to) { return static_cast<int64_t>(to - from); };
  return {.type = shape.type,
          .kv_heads = shape.kv_heads,
          .k_dim = shape.k_dim,
          .v_dim = shape.v_dim,
          .k_head = difference(first.k, next.k),
          .v = static_cast<int64_t>(first.v),
          .v_head = difference(first.v, next.v),
          .k_scales = static_cast<int64_t>(first.k_scales),
          .k_scales_head = difference(first.k_scales, next.k_scales),
          .v_scales = static_cast<int64_t>(first.v_scales),
          .v_scales_head = difference(first.v_scales, next.v_scales)};
}

}  // namespace inferd::kernels::gpu
