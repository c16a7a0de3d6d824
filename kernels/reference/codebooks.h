// Code books of the IQ types. An entry packs the indices of the 8 (or 4) values that one index of a file stands for.
//
//   int value = kValuesIQ2[kGridIQ2_XS[index] >> (2 * i) & 3];   // element i = 0..7
#pragma once

#include <cstdint>

namespace inferd::kernels::reference {

extern const uint16_t kGridIQ2_XXS[256];  // 8 indices of 2 bits into kValuesIQ2
extern const uint16_t kGridIQ2_XS[512];
extern const uint16_t kGridIQ2_S[1024];
extern const uint16_t kGridIQ3_XXS[256];  // 4 indices of 3 bits into kValuesIQ3_XXS
extern const uint16_t kGridIQ3_S[512];    // 4 indices i of 3 bits: the value is 2 * i + 1
extern const uint16_t kGridIQ1_S[2048];   // 8 indices i of 2 bits: the value is i - 1

constexpr int8_t kValuesIQ2[4] = {8, 25, 43, 0};
constexpr int8_t kValuesIQ3_XXS[8] = {4, 12, 20, 28, 36, 44, 52, 62};

}  // namespace inferd::kernels::reference
