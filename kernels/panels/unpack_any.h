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
using reference::ProductKind;

// The values of kPanelRows rows, `count` each, to their lanes. Adding a bias of 128 to a byte flips its highest bit.
template <PanelStyle kStyle>
void PutValues(const int8_t (&rows)[kPanelRows][256], int first, int count, bool biased,
               uint8_t (*out)[kPanelRows][4]) {
  static_assert(kStyle.bias == 0 || kStyle.bias == 128);
  const uint32_t flip = biased && kStyle.bias == 128 ? 0x80808080u : 0;
  for (int c = 0; c < count / 4; ++c) {
    for (int r = 0; r < kPanelRows; ++r) {
      uint32_t four;
      __builtin_memcpy(&four, rows[r] + first + 4 * c, 4);
      four ^= flip;
      __builtin_memcpy(out[c][r], &four, 4);
    }
  }
}

template <PanelStyle kStyle>
void PutSuperScales(const IntegerBlock& block, bool minimum, int row, PanelBlock256& out) {
  out.scale[row] = block.scale;
  for (int j = 0; j < 16; ++j) {
    const uint32_t scale = static_cast<uint16_t>(block.scales[j]);
    out.scales[j][row] = kStyle.paired_scales ? static_cast<int32_t>(scale | scale << 16) : block.scales[j];
  }
  if (!minimum) return;
  out.minimum[row] = block.minimum;
  for (int j = 0; j < 16; ++j) out.minimums[j / 2][row][j % 2] = block.minimums[j];
}

}  // namespace internal

// PanelFormat::unpack for a type of the kinds kScale32, kScale16, kSuper or kSuperMinimum.
template <PanelStyle kStyle, TensorType kType>
void UnpackAny(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t*, void* panel) {
  using internal::ProductKind;
  const TypeTraits& traits = TraitsOf(kType);
  const reference::Unpacker unpack = reference::UnpackerOf(kType);
  const ProductKind product = reference::ProductOf(kType);
  const int64_t parts = traits.block_elements == 256 ? 1 : traits.block_elements / 32;  // panel blocks of one block
  reference::IntegerBlock block;
  int8_t values[kPanelRows][256];
  for (int64_t b = 0; b < blocks; b += parts, rows += traits.block_bytes) {
    auto* groups = static_cast<PanelBlock32*>(panel) + b;
    auto& super = static_cast<PanelBlock256*>(panel)[b];
    for (int row = 0; row < kPanelRows; ++row) {
      unpack(rows + static_cast<size_t>(row) * stride, block);
      __builtin_memcpy(values[row], block.values, traits.block_elements);
      if (traits.block_elements == 256) {
        internal::PutSuperScales<kStyle>(block, product == ProductKind::kSuperMinimum, row, super);
        continue;
      }
      for (int64_t part = 0; part < parts; ++part) {
        groups[part].scale[row] = block.group_scales[2 * part];
        groups[part].second[row] = block.group_scales[2 * part + 1];
      }
    }
    if (traits.block_elements == 256) {
      internal::PutValues<kStyle>(values, 0, 256, product == ProductKind::kSuper, super.values);
      continue;
    }
    for (int64_t part = 0; part < parts; ++part) {
      internal::PutValues<kStyle>(values, static_cast<int>(32 * part), 32, true, groups[part].values);
    }
  }
}

}  // namespace inferd::kernels::panels
