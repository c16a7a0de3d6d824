// Values -1, 0, 1 with one half scale for 256: TQ1_0, TQ2_0. The best scale is found exactly: whatever it is, the
// values other than 0 are those of the largest magnitudes, so one pass over the sorted magnitudes sees every choice.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/quantize/block_quantizers.h"
#include "engine/quantize/fit_scale.h"

namespace inferd::quantize {
namespace {

constexpr int kBlock = 256;
using Levels = UniformLevels<-1, 1>;

float BestScale(const float* x, const float* w) {
  std::array<uint16_t, kBlock> order;
  std::iota(order.begin(), order.end(), uint16_t{0});
  std::sort(order.begin(), order.end(), [x](uint16_t a, uint16_t b) {
    const float first = std::fabs(x[a]), second = std::fabs(x[b]);
    return first != second ? first > second : a < b;
  });
  double taken = 0, weight = 0, best_gain = 0, best = 0;
  for (const uint16_t i : order) {
    taken += static_cast<double>(w[i]) * std::fabs(x[i]);
    weight += static_cast<double>(w[i]);
    const double gain = taken * taken / weight;
    if (gain > best_gain) {
      best_gain = gain;
      best = taken / weight;
    }
  }
  return static_cast<float>(best);
}

float FitTernary(const float* x, const float* w, int8_t* q) {
  const float scale = RefineHalf<Levels, kBlock>(x, w, BestScale(x, w));
  RoundTo<Levels, kBlock>(x, scale, q);
  return scale;
}

// `digits` ternary digits, most significant first, as the fraction of 256 that readers multiply out, rounded up.
uint8_t TernaryByte(const int8_t* q, int stride, int digits) {
  int number = 0;
  for (int position = 0; position < 5; ++position) {
    number = number * 3 + (position < digits ? q[position * stride] + 1 : 0);
  }
  return static_cast<uint8_t>((number * 256 + 242) / 243);
}

}  // namespace

void QuantizeTQ1_0(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  const float scale = FitTernary(x, w, q);
  for (int i = 0; i < 32; ++i) block[i] = TernaryByte(q + i, 32, 5);
  for (int i = 0; i < 16; ++i) block[32 + i] = TernaryByte(q + 160 + i, 16, 5);
  for (int i = 0; i < 4; ++i) block[48 + i] = TernaryByte(q + 240 + i, 4, 4);
  PutHalf(scale, block + 52);
}

void QuantizeTQ2_0(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  const float scale = FitTernary(x, w, q);
  std::memset(block, 0, 64);
  for (int i = 0; i < kBlock; ++i) {
    block[i / 128 * 32 + i % 32] |= static_cast<uint8_t>((q[i] + 1) << (i / 32 % 4 * 2));
  }
  PutHalf(scale, block + 64);
}

}  // namespace inferd::quantize
