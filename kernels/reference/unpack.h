// The unpackers of all quantized types, one function each, and the value tables that some share. Layouts are those of
// the GGUF format's quantization types; each function's comment or code shows them.
#pragma once

#include "kernels/reference/integer_block.h"

namespace inferd::kernels::reference {

constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // doubled FP4 (E2M1)

void UnpackQ4_0(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ4_1(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ5_0(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ5_1(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ8_0(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ4_NL(const uint8_t* bytes, IntegerBlock& block);
void UnpackMXFP4(const uint8_t* bytes, IntegerBlock& block);
void UnpackNVFP4(const uint8_t* bytes, IntegerBlock& block);

void UnpackQ2_K(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ3_K(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ4_K(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ5_K(const uint8_t* bytes, IntegerBlock& block);
void UnpackQ6_K(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ4_XS(const uint8_t* bytes, IntegerBlock& block);
void UnpackTQ1_0(const uint8_t* bytes, IntegerBlock& block);
void UnpackTQ2_0(const uint8_t* bytes, IntegerBlock& block);

void UnpackIQ1_S(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ1_M(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ2_XXS(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ2_XS(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ2_S(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ3_XXS(const uint8_t* bytes, IntegerBlock& block);
void UnpackIQ3_S(const uint8_t* bytes, IntegerBlock& block);

}  // namespace inferd::kernels::reference
