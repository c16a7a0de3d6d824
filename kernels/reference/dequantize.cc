// Weights as f32, equal to the values that the format's own implementations give.
#include "kernels/reference/bytes.h"
#include "kernels/reference/integer_block.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::reference {
namespace {

float LoadElement(TensorType type, const uint8_t* row, int64_t i) {
  switch (type) {
    case TensorType::kF16:
      return LoadHalf(row + 2 * i);
    case TensorType::kBF16:
      return LoadBfloat(row + 2 * i);
    default:
      return LoadFloat(row + 4 * i);
  }
}

void DequantizeBlock(ProductKind product, const IntegerBlock& block, int elements, float* out) {
  const bool super = product == ProductKind::kSuper || product == ProductKind::kSuperMinimum;
  for (int i = 0; i < elements; ++i) {
    const float value = static_cast<float>(block.values[i]);
    const float scale = super ? block.scale * static_cast<float>(block.scales[i / 16]) : block.group_scales[i / 16];
    out[i] = scale * value;
    if (product == ProductKind::kScale32Added) out[i] = out[i] + block.added;
    if (product == ProductKind::kSuperMinimum) {
      out[i] = out[i] - block.minimum * static_cast<float>(block.minimums[i / 16]);
    }
  }
}

}  // namespace

void DequantizeRow(TensorType type, const void* row, int64_t k, float* out) {
  const auto* bytes = static_cast<const uint8_t*>(row);
  const Unpacker unpack = UnpackerOf(type);
  if (unpack == nullptr) {
    for (int64_t i = 0; i < k; ++i) out[i] = LoadElement(type, bytes, i);
    return;
  }
  const TypeTraits& traits = TraitsOf(type);
  const ProductKind product = ProductOf(type);
  IntegerBlock block;
  for (int64_t i = 0; i < k; i += traits.block_elements, bytes += traits.block_bytes) {
    unpack(bytes, block);
    DequantizeBlock(product, block, static_cast<int>(traits.block_elements), out + i);
  }
}

}  // namespace inferd::kernels::reference
