// Types with one half scale for 32 values: Q4_0, Q5_0, Q8_0, and with a half minimum too: Q4_1, Q5_1.
#include <bit>

#include "engine/quantize/block_quantizers.h"
#include "engine/quantize/fit_affine.h"
#include "engine/quantize/fit_scale.h"

namespace inferd::quantize {
namespace {

constexpr int kBlock = 32;

// Low nibbles are values 0..15, high ones 16..31.
void PutNibbles(const int8_t* q, uint8_t* out) {
  for (int i = 0; i < 16; ++i) out[i] = static_cast<uint8_t>((q[i] & 15) | (q[i + 16] & 15) << 4);
}

void PutFifthBits(const int8_t* q, uint8_t* out) {
  uint32_t bits = 0;
  for (int i = 0; i < kBlock; ++i) bits |= static_cast<uint32_t>(q[i] >> 4 & 1) << i;
  Put16(bits, out);
  Put16(bits >> 16, out + 2);
}

// The fitted scale, or one that puts the largest magnitude right on a level, as it is in weights that were trained for
// or came from such levels.
template <typename Levels>
float BestScale(const float* x, const float* w, const ScaleSearch& search) {
  float best = RefineHalf<Levels, kBlock>(x, w, FitScale<Levels, kBlock>(x, w, search));
  float least = ErrorAt<Levels, kBlock>(x, w, best);
  const float largest = LargestMagnitude<kBlock>(x);
  constexpr auto kReach = static_cast<unsigned>(Levels::kReach);
  for (const unsigned level : {kReach, kReach - 1, std::bit_floor(kReach), std::bit_floor(kReach - 1)}) {
    for (const float sign : {1.0f, -1.0f}) {
      const float half = NearestHalf(sign * largest / static_cast<float>(level));
      const float error = ErrorAt<Levels, kBlock>(x, w, half);
      if (error < least) {
        least = error;
        best = half;
      }
    }
  }
  return best;
}

// Writes the scale; gives integers from 0.
template <int kLowest, int kHighest>
void FitBlock(const float* x, const float* w, const ScaleSearch& search, uint8_t* block, int8_t* q) {
  using Levels = UniformLevels<kLowest, kHighest>;
  const float scale = BestScale<Levels>(x, w, search);
  PutHalf(scale, block);
  RoundTo<Levels, kBlock>(x, scale, q);
  for (int i = 0; i < kBlock; ++i) q[i] = static_cast<int8_t>(q[i] - kLowest);
}

// The halves beside the fitted scale and minimum with the least error.
template <int kHighest>
Affine RefineHalves(const float* x, const float* w, const Affine& fit) {
  const float scale = NearestHalf(fit.scale), minimum = NearestHalf(fit.minimum);
  Affine best{scale, minimum};
  float least = AffineErrorAt<kHighest, kBlock>(x, w, scale, minimum);
  for (const int scale_steps : {-1, 0, 1}) {
    for (const int minimum_steps : {-1, 0, 1}) {
      const Affine near{HalfBeside(scale, scale_steps), HalfBeside(minimum, minimum_steps)};
      const float error = AffineErrorAt<kHighest, kBlock>(x, w, near.scale, near.minimum);
      if (error < least) {
        least = error;
        best = near;
      }
    }
  }
  return best;
}

// Writes scale and minimum.
template <int kHighest>
void FitAffineBlock(const float* x, const float* w, uint8_t* block, int8_t* q) {
  constexpr AffineSearch kSearch{.reach = 1.5f, .steps = 30, .clips = 2};
  const Affine fit = RefineHalves<kHighest>(x, w, FitAffine<kHighest, kBlock>(x, w, false, kSearch));
  PutHalf(fit.scale, block);
  PutHalf(fit.minimum, block + 2);
  float above[kBlock];
  for (int i = 0; i < kBlock; ++i) above[i] = x[i] - fit.minimum;
  RoundTo<UniformLevels<0, kHighest>, kBlock>(above, fit.scale, q);
}

}  // namespace

void QuantizeQ4_0(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  FitBlock<-8, 7>(x, w, {4.8f, 8.8f, 40}, block, q);
  PutNibbles(q, block + 2);
}

void QuantizeQ5_0(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  FitBlock<-16, 15>(x, w, {12.0f, 16.8f, 40}, block, q);
  PutFifthBits(q, block + 2);
  PutNibbles(q, block + 6);
}

// -128 is left alone: products that take magnitudes cannot hold it.
void QuantizeQ8_0(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  FitBlock<-127, 127>(x, w, {123.0f, 127.5f, 27}, block, q);
  for (int i = 0; i < kBlock; ++i) block[2 + i] = static_cast<uint8_t>(q[i] - 127);
}

void QuantizeQ4_1(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  FitAffineBlock<15>(x, w, block, q);
  PutNibbles(q, block + 4);
}

void QuantizeQ5_1(const float* x, const float* w, uint8_t* block) {
  int8_t q[kBlock];
  FitAffineBlock<31>(x, w, block, q);
  PutFifthBits(q, block + 4);
  PutNibbles(q, block + 8);
}

}  // namespace inferd::quantize
