// Where keys and values lie in a page (the layout is in sequence_arguments.h), for every variant's attention and
// write_kv: only sizes and offsets, no arithmetic on values.
//
//   PageLayout layout(shape);
//   const uint16_t* k = reinterpret_cast<const uint16_t*>(page + layout.KOffset(kv_head));   // [k_dim][64]
#pragma once

#include "kernels/sequence_arguments.h"

namespace inferd::kernels::reference {

constexpr int kScaleDims = 32;  // dimensions that share a scale of q8_0

class PageLayout {
 public:
  explicit PageLayout(const PageShape& shape);

  // Byte offsets of one head's part of a page.
  size_t KOffset(int32_t head) const { return head * k_head_bytes_; }
  size_t VOffset(int32_t head) const { return v_begin_ + head * v_head_bytes_; }
  size_t KScaleOffset(int32_t head) const { return k_scale_begin_ + head * k_scale_head_bytes_; }
  size_t VScaleOffset(int32_t head) const { return v_scale_begin_ + head * v_scale_head_bytes_; }
  size_t Bytes() const { return bytes_; }

 private:
  size_t k_head_bytes_, v_head_bytes_, k_scale_head_bytes_, v_scale_head_bytes_;
  size_t v_begin_, k_scale_begin_, v_scale_begin_, bytes_;
};

}  // namespace inferd::kernels::reference
