// The quantizers of all types, one function each: one block of values to its bytes, with the error weighted by
// importance as small as the search finds it. The layouts are those that kernels/reference/unpack_*.cc read.
//
//   QuantizeQ4_0(x, importance, block);   // 32 values -> 18 bytes
#pragma once

#include <cstdint>

namespace inferd::quantize {

// x: finite values; w: their importance, positive; as many as the type's block holds.
using BlockQuantizer = void (*)(const float* x, const float* w, uint8_t* block);

void QuantizeQ4_0(const float* x, const float* w, uint8_t* block);
void QuantizeQ4_1(const float* x, const float* w, uint8_t* block);
void QuantizeQ5_0(const float* x, const float* w, uint8_t* block);
void QuantizeQ5_1(const float* x, const float* w, uint8_t* block);
void QuantizeQ8_0(const float* x, const float* w, uint8_t* block);

void QuantizeQ2_K(const float* x, const float* w, uint8_t* block);
void QuantizeQ3_K(const float* x, const float* w, uint8_t* block);
void QuantizeQ4_K(const float* x, const float* w, uint8_t* block);
void QuantizeQ5_K(const float* x, const float* w, uint8_t* block);
void QuantizeQ6_K(const float* x, const float* w, uint8_t* block);

void QuantizeIQ4_NL(const float* x, const float* w, uint8_t* block);
void QuantizeIQ4_XS(const float* x, const float* w, uint8_t* block);
void QuantizeMXFP4(const float* x, const float* w, uint8_t* block);
void QuantizeNVFP4(const float* x, const float* w, uint8_t* block);

void QuantizeTQ1_0(const float* x, const float* w, uint8_t* block);
void QuantizeTQ2_0(const float* x, const float* w, uint8_t* block);

void QuantizeIQ1_S(const float* x, const float* w, uint8_t* block);
void QuantizeIQ1_M(const float* x, const float* w, uint8_t* block);
void QuantizeIQ2_XXS(const float* x, const float* w, uint8_t* block);
void QuantizeIQ2_XS(const float* x, const float* w, uint8_t* block);
void QuantizeIQ2_S(const float* x, const float* w, uint8_t* block);
void QuantizeIQ3_XXS(const float* x, const float* w, uint8_t* block);
void QuantizeIQ3_S(const float* x, const float* w, uint8_t* block);

}  // namespace inferd::quantize
