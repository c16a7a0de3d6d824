// Tensor types of GGUF files: identifiers, block sizes and the activation format that their product takes.
//
//   const TypeTraits* traits = FindTensorType(12);          // Q4_K
//   size_t row_bytes = traits->block_bytes * (k / traits->block_elements);
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferd::kernels {

// Values are those of the file format.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
};

constexpr size_t kTensorTypes = 26, kQuantizedTypes = kTensorTypes - 3;  // all but F32, F16 and BF16

// How a row of activations is stored before a product with weights of a type.
enum class ActivationFormat : uint8_t {
  kFloat,     // f32 as it is, for float weights
  kBlock32,   // int8 with one scale per 32, for the types with blocks of 16, 32 or 64
  kBlock256,  // int8 with one scale per 256 and sums of 16, for the types with blocks of 256
};

struct TypeTraits {
  TensorType type;
  const char* name;         // as in the file format's documents: "Q4_K"
  uint32_t block_elements;  // elements of one block; the row length is a multiple of it
  uint32_t block_bytes;
  ActivationFormat activation;
};

// nullptr for an identifier that is not a tensor type of this table.
const TypeTraits* FindTensorType(uint32_t gguf_id);
const TypeTraits& TraitsOf(TensorType type);

}  // namespace inferd::kernels
