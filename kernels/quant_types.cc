// The table of tensor types; see quant_types.h.
#include "kernels/quant_types.h"

namespace inferd::kernels {
namespace {

using enum TensorType;
using enum ActivationFormat;

constexpr TypeTraits kTypes[] = {
    // type, name, elements and bytes of a block, activations
    {kF32, "F32", 1, 4, kFloat},
    {kF16, "F16", 1, 2, kFloat},
    {kBF16, "BF16", 1, 2, kFloat},
    {kQ4_0, "Q4_0", 32, 18, kBlock32},
    {kQ4_1, "Q4_1", 32, 20, kBlock32},
    {kQ5_0, "Q5_0", 32, 22, kBlock32},
    {kQ5_1, "Q5_1", 32, 24, kBlock32},
    {kQ8_0, "Q8_0", 32, 34, kBlock32},
    {kIQ4_NL, "IQ4_NL", 32, 18, kBlock32},
    {kMXFP4, "MXFP4", 32, 17, kBlock32},
    {kNVFP4, "NVFP4", 64, 36, kBlock32},
    {kQ2_K, "Q2_K", 256, 84, kBlock256},
    {kQ3_K, "Q3_K", 256, 110, kBlock256},
    {kQ4_K, "Q4_K", 256, 144, kBlock256},
    {kQ5_K, "Q5_K", 256, 176, kBlock256},
    {kQ6_K, "Q6_K", 256, 210, kBlock256},
    {kIQ1_S, "IQ1_S", 256, 50, kBlock256},
    {kIQ1_M, "IQ1_M", 256, 56, kBlock256},
    {kIQ2_XXS, "IQ2_XXS", 256, 66, kBlock256},
    {kIQ2_XS, "IQ2_XS", 256, 74, kBlock256},
    {kIQ2_S, "IQ2_S", 256, 82, kBlock256},
    {kIQ3_XXS, "IQ3_XXS", 256, 98, kBlock256},
    {kIQ3_S, "IQ3_S", 256, 110, kBlock256},
    {kIQ4_XS, "IQ4_XS", 256, 136, kBlock256},
    {kTQ1_0, "TQ1_0", 256, 54, kBlock256},
    {kTQ2_0, "TQ2_0", 256, 66, kBlock256},
};

}  // namespace

const TypeTraits* FindTensorType(uint32_t gguf_id) {
  for (const TypeTraits& traits : kTypes) {
    if (static_cast<uint32_t>(traits.type) == gguf_id) return &traits;
  }
  return nullptr;
}

const TypeTraits& TraitsOf(TensorType type) { return *FindTensorType(static_cast<uint32_t>(type)); }

}  // namespace inferd::kernels
