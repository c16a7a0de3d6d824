// The values that the integers of a type take, and the nearest of them to a number.
//
//   Lanes q = UniformLevels<-8, 7>::Nearest(Load(x) * Splat(1 / scale));
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/quantize/lanes.h"

namespace inferd::quantize {

// All integers from kLowest to kHighest, |.| < 2^22.
template <int kLowest, int kHighest>
struct UniformLevels {
  static constexpr float kReach = static_cast<float>(std::max(-kLowest, kHighest));
  static constexpr bool kSymmetric = kLowest == -kHighest;
  static Lanes Nearest(Lanes v) { return Round(Clamp(v, kLowest, kHighest)); }
};

// The integers of a table in ascending order. kTable is a struct with `static constexpr int8_t kValues[kCount]`.
template <typename Table>
struct TableLevels {
  static constexpr int kCount = sizeof(Table::kValues);
  static constexpr float kReach = static_cast<float>(std::max<int>(-Table::kValues[0], Table::kValues[kCount - 1]));
  static constexpr bool kSymmetric = Table::kValues[0] == -Table::kValues[kCount - 1];
  static Lanes Nearest(Lanes v) {
    Lanes level = Splat(Table::kValues[0]);
    for (int i = 1; i < kCount; ++i) {
      const float low = Table::kValues[i - 1], high = Table::kValues[i];
      level += v > Splat(0.5f * (low + high)) ? Splat(high - low) : Lanes{};
    }
    return level;
  }
};

}  // namespace inferd::quantize
