// What this machine can do at best with a number of threads: the ceilings that a model's speed is compared with.
//
//   MachineLimits limits = MeasureMachine(*kernels::SelectKernels(nullptr), /*threads=*/2);
//   double share = achieved_ops_per_second / limits.int8_ops_per_second;
#pragma once

#include "kernels/kernels.h"

namespace inferd::tools {

struct MachineLimits {
  double int8_ops_per_second = 0;    // multiply and add count as two
  double f32_flops_per_second = 0;   // likewise
  double read_bytes_per_second = 0;  // sequential reads from memory, far more than the caches hold
};

// The best of several short runs (about two seconds in all), since other work on the machine only ever takes away.
MachineLimits MeasureMachine(const kernels::Kernels& kernels, int threads);

}  // namespace inferd::tools
