// Gate and up projections of a feed-forward network with their activation in one job: dense ones' and experts'.
//
//   RunGatedPair(processor, spec, {.gate = &w.gate, .up = &w.up, .input = &input, .tokens = rows, .out = inner, ...});
#pragma once

#include <cstdint>

#include "engine/device/cpu/processor.h"
#include "engine/model/decoder_spec.h"

namespace inferd::device {

struct GatedPair {
  const model::Linear *gate, *up;  // gate absent: no gate
  const Activations* input;
  const int32_t* input_rows;  // as MatmulArguments::activation_rows
  int64_t tokens;
  float* out;  // [tokens], stride apart
  int64_t stride;
  float limit;  // FeedForwardSpec::limit or that of the experts
};

// All of it, divided over the threads.
void RunGatedPair(Processor& processor, const model::FeedForwardSpec& spec, const GatedPair& pair);

// Columns begin..end-1 in the calling thread, as one item of a job.
void MultiplyGatedPair(const Processor& processor, const model::FeedForwardSpec& spec, const GatedPair& pair,
                       int64_t begin, int64_t end, int32_t thread);

}  // namespace inferd::device
