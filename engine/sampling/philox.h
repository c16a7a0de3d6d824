// Random numbers that are a function of (seed, position, choice): no state, so a request that is preempted, resumed or
// recomputed draws the same numbers again.
//
//   double u = UniformAt({.seed = seed, .position = 17, .choice = 0, .stream = RandomStream::kToken});
//
// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), section 3.3.
#pragma once

#include <array>
#include <cstdint>

namespace inferd::sampling {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// What a number is drawn for; streams of one position are independent.
enum class RandomStream : uint32_t { kToken = 0, kExcludeTop = 1 };

struct RandomPoint {
  uint64_t seed;
  uint64_t position;  // index of the token among those generated
  uint32_t choice = 0;
  RandomStream stream = RandomStream::kToken;
};

// Uniform in [0, 1), a multiple of 2^-53.
double UniformAt(const RandomPoint& point);

}  // namespace inferd::sampling
