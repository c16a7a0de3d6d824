// Code books of the IQ types: the 8 (or 4) values that one index of a file stands for.
//
//   int8_t value = kCodeBookIQ2_XS.values[index][i];   // element i = 0..7
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferd::kernels::reference {

template <size_t kEntries, size_t kCount>
struct CodeBook {
  int8_t values[kEntries][kCount];
};

extern const CodeBook<256, 8> kCodeBookIQ2_XXS;
extern const CodeBook<512, 8> kCodeBookIQ2_XS;
extern const CodeBook<1024, 8> kCodeBookIQ2_S;
extern const CodeBook<256, 4> kCodeBookIQ3_XXS;
extern const CodeBook<512, 4> kCodeBookIQ3_S;
extern const CodeBook<2048, 8> kCodeBookIQ1;  // in eighths: -8, 0, 8

}  // namespace inferd::kernels::reference
