// Counts of values by bucket, for latencies and sizes.
//
//   Histogram seconds(kSecondsBounds);
//   seconds.Add(0.123);
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace inferd::engine {

inline constexpr double kSecondsBounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                            0.5,   1,      2.5,   5,    10,    30,   60,  120};
inline constexpr double kTokensBounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};

struct Histogram {
  explicit Histogram(std::span<const double> bounds)
      : upper_bounds(bounds.begin(), bounds.end()), counts(bounds.size() + 1) {}

  // Bucket i holds the values <= upper_bounds[i] that no bucket before it does, the last one the rest.
  void Add(double value) {
    const auto bucket = std::lower_bound(upper_bounds.begin(), upper_bounds.end(), value);
    ++counts[static_cast<size_t>(bucket - upper_bounds.begin())];
    sum += value;
  }

  std::vector<double> upper_bounds;
  std::vector<uint64_t> counts;
  double sum = 0;
};

}  // namespace inferd::engine
