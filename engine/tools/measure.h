// How fast a model runs: prefill of one prompt, and decode of several sequences at once.
//
//   Workload work = WorkloadOf(*runnable.model);
//   ASSIGN_OR_RETURN(double rate, MeasurePrefill(runnable, 512));
//   double share = ShareOfLimit(work, limits, 1, rate);
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/tools/machine_limits.h"
#include "engine/tools/runnable.h"

namespace inferd::tools {

// What one pass costs at least, whatever the implementation. Experts count by the share of them that a token uses.
struct Workload {
  double int8_ops_per_token = 0;                 // 2 * quantized weights of the layers
  double float_ops_per_token = 0;                // 2 * float weights of the layers
  double head_int8_ops = 0, head_float_ops = 0;  // for each row of logits
  double bytes_per_pass = 0;                     // of all weights that a pass over one token reads
};
Workload WorkloadOf(const model::Model& model);

// Tokens a second. Prefill: one sequence of `tokens`, the last one's logits wanted; the best of `runs`.
absl::StatusOr<double> MeasurePrefill(Runnable& runnable, int64_t tokens, int runs);
// Decode: `sequences` of them side by side, each with `depth` tokens before, `steps` passes of one token each.
absl::StatusOr<double> MeasureDecode(Runnable& runnable, int64_t sequences, int64_t depth, int64_t steps, int runs);

// The time that the machine's limits allow at best (the slower of arithmetic and memory) over the time taken.
double ShareOfPrefillLimit(const Workload& work, const MachineLimits& limits, int64_t tokens, double tokens_per_second);
double ShareOfDecodeLimit(const Workload& work, const MachineLimits& limits, int64_t sequences,
                          double tokens_per_second);

}  // namespace inferd::tools
