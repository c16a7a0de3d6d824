// The order in which one value is made of a row: element i goes to lane i % 16, ascending; the row counts as padded
// with zeros to a multiple of 16; then lanes i and i+8, i+4, i+2, i+1 are added.
//
//   LaneSum sum;
//   for (int64_t i = 0; i < n; ++i) sum.AddProduct(i, x[i], x[i]);
//   float total = sum.Total();
#pragma once

#include <cmath>
#include <cstdint>

namespace inferd::kernels::reference {

class LaneSum {
 public:
  void AddProduct(int64_t index, float a, float b) { lanes_[index % 16] = std::fma(a, b, lanes_[index % 16]); }
  void Add(int64_t index, float x) { lanes_[index % 16] = lanes_[index % 16] + x; }

  float Total() const {
    float sums[16];
    for (int i = 0; i < 16; ++i) sums[i] = lanes_[i] + 0.0f;  // a zero of padding makes -0 to +0
    for (int half = 8; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
    }
    return sums[0];
  }

 private:
  float lanes_[16] = {};
};

}  // namespace inferd::kernels::reference
