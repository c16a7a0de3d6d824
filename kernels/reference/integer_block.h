// One view of every quantized type: integers with their scales. A type is one function that fills this view from its
// bytes; products, dequantization and the panels of rarely used types need nothing else.
//
//   IntegerBlock block;
//   UnpackerOf(TensorType::kQ4_K)(bytes, block);   // 144 bytes: 256 elements
//   float x = block.scale * block.scales[i / 16] * block.values[i] - block.minimum * block.minimums[i / 16];
#pragma once

#include <cstdint>

#include "kernels/quant_types.h"

namespace inferd::kernels::reference {

// Types with ActivationFormat::kBlock256: all 256 elements of a block,
//   x[i] = scale * scales[i / 16] * values[i] - minimum * minimums[i / 16].
// Types with ActivationFormat::kBlock32: the block's 32 (NVFP4: 64) elements,
//   x[i] = group_scales[i / 16] * values[i] + added    (both scales of 32 elements are equal but for NVFP4).
struct IntegerBlock {
  int8_t values[256];
  float scale;
  float minimum;
  int16_t scales[16];
  int16_t minimums[16];
  float group_scales[4];
  float added;
};

using Unpacker = void (*)(const uint8_t* bytes, IntegerBlock& block);

// nullptr for the float types. Has no effect but on the block, for any bytes.
Unpacker UnpackerOf(TensorType type);

// How the product of a type combines its parts; see matmul.cc.
enum class ProductKind : uint8_t {
  kFloat,         // 16 lanes of float products
  kScale32,       // one scale for 32 elements
  kScale32Added,  // one scale and one added value for 32 elements
  kScale16,       // one scale for 16 elements
  kSuper,         // 256 elements: a scale, and an integer scale for each 16
  kSuperMinimum,  // also a minimum, and an integer minimum for each 16
};

ProductKind ProductOf(TensorType type);

}  // namespace inferd::kernels::reference
