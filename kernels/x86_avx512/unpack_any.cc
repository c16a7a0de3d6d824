// Panels of the types that have no unpacker of their own here, through the reference's view of a block.
#include "kernels/reference/integer_block.h"
#include "kernels/x86_avx512/formats.h"

namespace inferd::kernels::avx512 {
namespace {

using reference::IntegerBlock;

// Elements first..first+n-1 of one row into lane `row`.
void PutValues(const int8_t* values, int n, int bias, int row, uint8_t (*out)[kPanelRows][4]) {
  for (int i = 0; i < n; ++i) out[i / 4][row][i % 4] = static_cast<uint8_t>(values[i] + bias);
}

void PutSuper(const IntegerBlock& block, bool minimum, int row, PanelBlock256& out) {
  PutValues(block.values, 256, minimum ? 0 : 128, row, out.values);
  out.scale[row] = block.scale;
  for (int j = 0; j < 16; ++j) out.scales[j][row] = block.scales[j];
  if (!minimum) return;
  out.minimum[row] = block.minimum;
  for (int j = 0; j < 16; ++j) out.minimums[j / 2][row][j % 2] = block.minimums[j];
}

void PutGroup(const IntegerBlock& block, int first, bool two_scales, int row, PanelBlock32& out) {
  PutValues(block.values + first, 32, 128, row, out.values);
  out.scale[row] = block.group_scales[first / 16];
  out.second[row] = two_scales ? block.group_scales[first / 16 + 1] : 0.0f;
}

}  // namespace

template <TensorType kType>
void UnpackAny(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t*, void* panel) {
  const TypeTraits& traits = TraitsOf(kType);
  const reference::Unpacker unpack = reference::UnpackerOf(kType);
  const reference::ProductKind product = reference::ProductOf(kType);
  const int elements = static_cast<int>(traits.block_elements);
  IntegerBlock block;
  for (int row = 0; row < kPanelRows; ++row) {
    const uint8_t* bytes = rows + static_cast<size_t>(row) * stride;
    for (int64_t b = 0; b < blocks; ++b) {
      if (elements == 256) {
        unpack(bytes + static_cast<size_t>(b) * traits.block_bytes, block);
        PutSuper(block, product == reference::ProductKind::kSuperMinimum, row, static_cast<PanelBlock256*>(panel)[b]);
        continue;
      }
      const int parts = elements / 32;
      const int part = static_cast<int>(b % parts);
      if (part == 0) unpack(bytes + static_cast<size_t>(b / parts) * traits.block_bytes, block);
      PutGroup(block, 32 * part, product == reference::ProductKind::kScale16, row,
               static_cast<PanelBlock32*>(panel)[b]);
    }
  }
}

namespace {
using enum TensorType;
}

template void UnpackAny<kMXFP4>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kNVFP4>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kQ2_K>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kQ3_K>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ4_XS>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ1_S>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ1_M>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ2_XXS>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ2_XS>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ2_S>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ3_XXS>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kIQ3_S>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kTQ1_0>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);
template void UnpackAny<kTQ2_0>(const uint8_t*, size_t, int64_t, const uint8_t*, void*);

}  // namespace inferd::kernels::avx512
