#include "engine/tools/random_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"

namespace inferd::tools {
namespace {

using kernels::TensorType;

constexpr size_t kPoolBlocks = 4096;
constexpr uint64_t kRunBlocks = 512;  // longest run written from one place of the pool

// Where a block keeps its f16 scale and minimum, and the minimum per scale that centres the values. -1: none.
struct ScalePlace {
  int scale, minimum;
  float minimum_per_scale;
};

ScalePlace PlaceOf(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
      return {0, 2, -7.5f};
    case TensorType::kQ5_1:
      return {0, 2, -15.5f};
    case TensorType::kQ2_K:
      return {80, 82, 1.5f};
    case TensorType::kQ4_K:
      return {0, 2, 7.5f};
    case TensorType::kQ5_K:
      return {0, 2, 15.5f};
    case TensorType::kQ3_K:
      return {108, -1, 0};
    case TensorType::kQ6_K:
      return {208, -1, 0};
    case TensorType::kTQ1_0:
      return {52, -1, 0};
    case TensorType::kTQ2_0:
      return {64, -1, 0};
    default:
      return {0, -1, 0};
  }
}

// IEEE half precision of a value below 65504, rounded to nearest.
uint16_t HalfBits(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::fabs(value);
  if (size < 0x1p-14f) return sign | static_cast<uint16_t>(std::lround(size * 0x1p24f));
  int exponent;
  const float fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  return sign | static_cast<uint16_t>(((exponent + 13) << 10) + std::lround(fraction * 2048));
}

bool IsFloat(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16;
}

void SetFloat(TensorType type, float value, uint8_t* out) {
  if (type == TensorType::kF32) {
    std::memcpy(out, &value, 4);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const uint16_t half = type == TensorType::kF16 ? HalfBits(value) : static_cast<uint16_t>(bits >> 16);
  std::memcpy(out, &half, 2);
}

// Sets the scale of one block whose other bytes are random. The types with 8-bit exponents take the nearest power.
void SetScale(TensorType type, float scale, uint8_t* block) {
  if (type == TensorType::kMXFP4) {
    block[0] = static_cast<uint8_t>(std::clamp(127 + std::lround(std::log2(scale)), 1L, 254L));
    return;
  }
  if (type == TensorType::kNVFP4) {  // four scales of 4 exponent bits (bias 7) and 3 of mantissa; small ones subnormal
    const long exponent = std::clamp(7 + std::lround(std::log2(scale)), 1L, 14L);
    const long code = scale < 0x1p-6f ? std::clamp(std::lround(scale * 0x1p9f), 1L, 7L) : exponent << 3;
    std::memset(block, static_cast<int>(code), 4);
    return;
  }
  const uint16_t bits = HalfBits(scale);
  if (type == TensorType::kIQ1_M) {  // the f16 lies in the upper nibbles of four 16-bit words
    for (int i = 0; i < 4; ++i) {
      uint8_t& high = block[48 + 2 * i + 1];
      high = static_cast<uint8_t>((high & 0x0f) | (((bits >> (4 * i)) & 0xf) << 4));
    }
    return;
  }
  const ScalePlace place = PlaceOf(type);
  std::memcpy(block + place.scale, &bits, 2);
  if (place.minimum < 0) return;
  const uint16_t minimum = HalfBits(scale * place.minimum_per_scale);
  std::memcpy(block + place.minimum, &minimum, 2);
}

float DeviationOf(TensorType type, const std::vector<uint8_t>& pool, int64_t elements) {
  std::vector<float> values(elements);
  kernels::SelectKernels("reference")->dequantize_row(type, pool.data(), elements, values.data());
  double squares = 0;
  for (float value : values) squares += double{value} * value;
  return static_cast<float>(std::sqrt(squares / static_cast<double>(elements)));
}

}  // namespace

RandomBlocks::RandomBlocks(TensorType type, float deviation, uint64_t seed)
    : state_(seed * 0x9e3779b97f4a7c15ull + 1), block_bytes_(kernels::TraitsOf(type).block_bytes) {
  const kernels::TypeTraits& traits = kernels::TraitsOf(type);
  const size_t blocks = IsFloat(type) ? kPoolBlocks * 64 : kPoolBlocks;
  pool_.resize(blocks * block_bytes_);
  if (IsFloat(type)) {
    const float width = deviation * std::sqrt(12.0f);  // of a uniform distribution
    for (size_t i = 0; i < blocks; ++i) {
      const float uniform = static_cast<float>(Next() >> 40) / static_cast<float>(1 << 24);
      SetFloat(type, (uniform - 0.5f) * width, &pool_[i * block_bytes_]);
    }
    return;
  }
  for (uint8_t& byte : pool_) byte = static_cast<uint8_t>(Next() >> 56);
  const auto set_all = [&](float scale) {
    for (size_t i = 0; i < blocks; ++i) SetScale(type, scale, &pool_[i * block_bytes_]);
  };
  set_all(1.0f);
  set_all(deviation / DeviationOf(type, pool_, static_cast<int64_t>(blocks * traits.block_elements)));
}

// xorshift64* (Vigna 2016).
uint64_t RandomBlocks::Next() {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return state_ * 0x2545f4914f6cdd1dull;
}

absl::Status RandomBlocks::Fill(uint64_t bytes, gguf::TensorSink& sink) {
  const uint64_t pool_blocks = pool_.size() / block_bytes_;
  std::vector<uint8_t> buffer;
  while (bytes > 0) {
    buffer.clear();
    while (bytes > 0 && buffer.size() < (1 << 20)) {
      const uint64_t blocks = std::min({1 + Next() % kRunBlocks, bytes / block_bytes_, pool_blocks});
      const uint64_t first = Next() % (pool_blocks - blocks + 1);
      const auto begin = pool_.begin() + static_cast<ptrdiff_t>(first * block_bytes_);
      buffer.insert(buffer.end(), begin, begin + static_cast<ptrdiff_t>(blocks * block_bytes_));
      bytes -= blocks * block_bytes_;
    }
    if (const absl::Status status = sink.Write(buffer); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace inferd::tools
