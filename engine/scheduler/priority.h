// Who goes first among those that wait: the better priority, and waiting makes it better, so that nobody starves.
//
//   AgedPriority(Priority::kBatch, arrival, now, kAgeingSeconds);     // 3; 2 after 10 s, 0 after 30 s
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "config/base/clock.h"

namespace inferd::scheduler {

enum class Priority : uint8_t { kHigh, kNormal, kLow, kBatch };
constexpr size_t kPriorities = 4;

constexpr double kAgeingSeconds = 10;  // of waiting make a priority one class better
constexpr int kBestPriority = 0;

// The effective priority: smaller goes first.
inline int AgedPriority(Priority priority, MonotonicTime since, MonotonicTime now, double ageing_seconds) {
  const double waited = std::chrono::duration<double>(now - since).count();
  const int classes = static_cast<int>(std::clamp(waited / ageing_seconds, 0.0, 3.0));
  return std::max(static_cast<int>(priority) - classes, kBestPriority);
}

}  // namespace inferd::scheduler
