// Panels of the types for which a variant has no unpacker of its own, through the reference's view of a block.
#pragma once

#include "kernels/panels/panel.h"
#include "kernels/reference/integer_block.h"

namespace inferd::kernels::panels {

// How a variant keeps signed values and scales in its panels.
struct PanelStyle {
  int bias;            // added to signed values
  bool paired_scales;  // int16 twice in a lane of PanelBlock256::scales, instead of one int32
};

namespace internal {

using reference::IntegerBlock;

template <PanelStyle kStyle>
void PutSuper(const IntegerBlock& block, bool minimum, int row, PanelBlock256& out) {
  const int bias = minimum ? 0 : kStyle.bias;
  for (int i = 0; i < 256; ++i) out.values[i / 4][row][i % 4] = static_cast<uint8_t>(block.values[i] + bias);
  out.scale[row] = block.scale;
  for (int j = 0; j < 16; ++j) {
    const uint32_t scale = static_cast<uint16_t>(block.scales[j]);
    out.scales[j][row] = kStyle.paired_scales ? static_cast<int32_t>(scale | scale << 16) : block.scales[j];
  }
  if (!minimum) return;
  out.minimum[row] = block.minimum;
  for (int j = 0; j < 16; ++j) out.minimums[j / 2][row][j % 2] = block.minimums[j];
}

template <PanelStyle kStyle>
void PutGroup(const IntegerBlock& block, int first, bool two_scales, int row, PanelBlock32& out) {
  for (int i = 0; i < 32; ++i) {
    out.values[i / 4][row][i % 4] = static_cast<uint8_t>(block.values[first + i] + kStyle.bias);
  }
  out.scale[row] = block.group_scales[first / 16];
  out.second[row] = two_scales ? block.group_scales[first / 16 + 1] : 0.0f;
}

}  // namespace internal

// PanelFormat::unpack for a type of the kinds kScale32, kScale16, kSuper or kSuperMinimum.
template <PanelStyle kStyle, TensorType kType>
void UnpackAny(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t*, void* panel) {
  const TypeTraits& traits = TraitsOf(kType);
  const reference::Unpacker unpack = reference::UnpackerOf(kType);
  const reference::ProductKind product = reference::ProductOf(kType);
  const int64_t parts = traits.block_elements == 256 ? 1 : traits.block_elements / 32;
  reference::IntegerBlock block;
  for (int row = 0; row < kPanelRows; ++row) {
    const uint8_t* bytes = rows + static_cast<size_t>(row) * stride;
    for (int64_t b = 0; b < blocks; ++b) {
      if (b % parts == 0) unpack(bytes + static_cast<size_t>(b / parts) * traits.block_bytes, block);
      if (traits.block_elements == 256) {
        internal::PutSuper<kStyle>(block, product == reference::ProductKind::kSuperMinimum, row,
                                   static_cast<PanelBlock256*>(panel)[b]);
      } else {
        internal::PutGroup<kStyle>(block, static_cast<int>(32 * (b % parts)),
                                   product == reference::ProductKind::kScale16, row,
                                   static_cast<PanelBlock32*>(panel)[b]);
      }
    }
  }
}

}  // namespace inferd::kernels::panels
