// The time that this thread has had of the processor, so that others on the machine do not count.
//
//   const double begin = ThreadSeconds();
#pragma once

#include <ctime>

namespace inferd {

inline double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace inferd
