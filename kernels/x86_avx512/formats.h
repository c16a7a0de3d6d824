// The unpackers behind FormatOf, see panel.h.
#pragma once

#include "kernels/x86_avx512/panel.h"

namespace inferd::kernels::avx512 {

void UnpackQ4_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_1(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ8_0(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackIQ4_NL(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ4_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ5_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);
void UnpackQ6_K(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);

// For any other quantized type, through the reference's view of its blocks.
template <TensorType kType>
void UnpackAny(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel);

}  // namespace inferd::kernels::avx512
