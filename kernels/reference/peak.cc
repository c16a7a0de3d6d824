// The reference's speed limit: plain multiply-adds, for the sake of a complete table.
#include <cmath>

#include "kernels/reference/reference.h"

namespace inferd::kernels::reference {

int64_t Int8Peak(int64_t rounds, float* sink) {
  int32_t sums[8] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    const auto factor = static_cast<int8_t>(i);
    for (int32_t& sum : sums) sum += factor * static_cast<int8_t>(sum + 3);
  }
  for (int32_t sum : sums) *sink += static_cast<float>(sum & 1);
  return rounds * 8 * 2;
}

int64_t FloatPeak(int64_t rounds, float* sink) {
  float sums[8] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = std::fma(sum, 0.5f, 1.0f);
  }
  for (float sum : sums) *sink += sum;
  return rounds * 8 * 2;
}

}  // namespace inferd::kernels::reference
