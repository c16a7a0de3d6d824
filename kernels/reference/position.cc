// Rotary position embedding (arXiv:2104.09864).
#include <cmath>

#include "kernels/lanes/exact_angle.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {

void RopeTable(int64_t position, const double* inverse_frequencies, int64_t pairs, float magnitude, float* table) {
  kernels::RopeTable<Scalar>(position, inverse_frequencies, pairs, magnitude, table);
}

void Rope(float* heads, int64_t head_count, int64_t head_stride, int64_t rotated, RopePairing pairing,
          const float* table) {
  const int64_t pairs = rotated / 2;
  const int64_t step = pairing == RopePairing::kNeighbours ? 2 : 1;
  const int64_t distance = pairing == RopePairing::kNeighbours ? 1 : pairs;
  for (int64_t h = 0; h < head_count; ++h) {
    float* head = heads + h * head_stride;
    for (int64_t i = 0; i < pairs; ++i) {
      const float cosine = table[i];
      const float sine = table[pairs + i];
      float* first = head + i * step;
      float* second = first + distance;
      const float x = *first;
      const float y = *second;
      *first = std::fma(x, cosine, -(y * sine));
      *second = std::fma(y, cosine, x * sine);
    }
  }
}

}  // namespace inferd::kernels::reference
