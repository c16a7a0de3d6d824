// Rows of activations in the three formats; activations.h says what the blocks hold.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/activations.h"
#include "kernels/reference/products.h"

namespace inferd::kernels::reference {
namespace {

// The largest magnitude by its bit pattern, so that infinity and NaN come through and spoil the result visibly.
float LargestMagnitude(const float* x, int n) {
  uint32_t largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu);
  return std::bit_cast<float>(largest);
}

// To the nearest integer, ties to even, for |x| < 2^22; some integer for anything else.
int8_t RoundToInt8(float x) {
  const float shifted = x + 0x1.8p23f;
  return static_cast<int8_t>(std::bit_cast<uint32_t>(shifted) & 0xFF);
}

// Writes n integers and returns their scale.
float Quantize(const float* x, int n, int8_t* quants) {
  const float largest = LargestMagnitude(x, n);
  const bool zero = largest < kSmallestMagnitude, too_large = !(largest < kTooLargeMagnitude);
  const float inverse = zero || too_large ? 0.0f : 127.0f / largest;
  for (int i = 0; i < n; ++i) quants[i] = RoundToInt8(x[i] * inverse);
  if (zero) return 0.0f;
  if (too_large) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(std::bit_cast<uint32_t>(largest / 127.0f) & ~uint32_t{3});
}

int32_t Magnitude(int32_t value) { return value < 0 ? -value : value; }

int32_t Sum(const int8_t* quants, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += quants[i];
  return sum;
}

int32_t MagnitudeSum(const int8_t* quants, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += Magnitude(quants[i]);
  return sum;
}

void QuantizeBlock32(const float* x, ActivationBlock32& block) {
  block.scale = Quantize(x, 32, block.quants);
  const int32_t sum = Sum(block.quants, 32);
  block.scaled_zero = -kShiftedZero * block.scale;
  block.first_dot = kShiftedZeroBits - 128 * sum;
  block.scaled_sum = block.scale * static_cast<float>(sum);
}

void QuantizeBlock256(const float* x, ActivationBlock256& block) {
  block.scale = Quantize(x, 256, block.quants);
  LargestSums largest;
  for (int i = 0; i < 16; ++i) {
    block.sums16[i] = static_cast<int16_t>(Sum(block.quants + 16 * i, 16));
    block.offsets[i] = -128 * block.sums16[i];
    largest.magnitudes16 = std::max(largest.magnitudes16, MagnitudeSum(block.quants + 16 * i, 16));
  }
  for (int i = 0; i < 8; ++i) {
    const int32_t sum = Sum(block.quants + 32 * i, 32);
    block.sums32[i] = static_cast<int16_t>(sum);
    largest.one_sign32 = std::max(largest.one_sign32, MagnitudeSum(block.quants + 32 * i, 32) + Magnitude(sum));
  }
  block.wide = WideOf(largest);
}

}  // namespace

size_t ActivationRowBytes(ActivationFormat format, int64_t k) {
  const size_t elements = static_cast<size_t>(k);
  size_t bytes = 0;
  switch (format) {
    case ActivationFormat::kFloat:
      bytes = elements * sizeof(float);
      break;
    case ActivationFormat::kBlock32:
      bytes = elements / 32 * sizeof(ActivationBlock32);
      break;
    case ActivationFormat::kBlock256:
      bytes = elements / 256 * sizeof(ActivationBlock256);
      break;
  }
  return (bytes + 63) / 64 * 64;
}

void QuantizeRows(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out) {
  const size_t row_bytes = ActivationRowBytes(format, k);
  auto* row = static_cast<uint8_t*>(out);
  for (int64_t r = 0; r < rows; ++r, x += k, row += row_bytes) {
    switch (format) {
      case ActivationFormat::kFloat:
        std::memset(row + row_bytes - std::min<size_t>(row_bytes, 64), 0, std::min<size_t>(row_bytes, 64));
        std::memcpy(row, x, static_cast<size_t>(k) * sizeof(float));
        break;
      case ActivationFormat::kBlock32:
        for (int64_t b = 0; b < k / 32; ++b) QuantizeBlock32(x + 32 * b, reinterpret_cast<ActivationBlock32*>(row)[b]);
        break;
      case ActivationFormat::kBlock256:
        for (int64_t b = 0; b < k / 256; ++b) {
          QuantizeBlock256(x + 256 * b, reinterpret_cast<ActivationBlock256*>(row)[b]);
        }
        break;
    }
  }
}

}  // namespace inferd::kernels::reference
