// The counter holds (position, choice, stream); the key is the seed.
#include "engine/sampling/philox.h"

namespace inferd::sampling {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1), High(product0) ^ counter[3] ^ key[1],
               Low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

double UniformAt(const RandomPoint& point) {
  const auto words =
      Philox4x32({Low(point.position), High(point.position), point.choice, static_cast<uint32_t>(point.stream)},
                 {Low(point.seed), High(point.seed)});
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace inferd::sampling
