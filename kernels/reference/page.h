// Where keys and values lie in a page (the layout is in sequence_arguments.h), for every variant's attention and
// write_kv.
//
//   const PageOffsets offsets = OffsetsOf(shape, kv_head);
//   const uint16_t* k = reinterpret_cast<const uint16_t*>(page + offsets.k);   // [k_dim][64]
#pragma once

#include "kernels/sequence_arguments.h"

namespace inferd::kernels::reference {

constexpr int kScaleDims = 32;  // dimensions that share a scale of q8_0

struct PageOffsets {
  size_t k, v, k_scales, v_scales;  // bytes from the page's begin to one head's part
};
PageOffsets OffsetsOf(const PageShape& shape, int32_t kv_head);

}  // namespace inferd::kernels::reference
