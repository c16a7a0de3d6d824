// One tensor into another type, rows divided among threads. The bytes are the same with any number of them.
//
//   RETURN_IF_ERROR(QuantizeTensor(planned, importance, /*threads=*/4, sink, [&](uint64_t bytes) { ... }));
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/quantize/importance.h"
#include "engine/quantize/plan.h"

namespace inferd::quantize {

// Writes the tensor's new bytes piece by piece (tens of MiB of memory); copies a tensor that keeps its type. `done`
// gets the bytes of the source that each piece was made of. INVALID_ARGUMENT names tensor and row of a value that the
// type cannot hold.
absl::Status QuantizeTensor(const PlannedTensor& planned, const Importance* importance, int32_t threads,
                            gguf::TensorSink& sink, const std::function<void(uint64_t bytes)>& done);

}  // namespace inferd::quantize
