// GenerateRequest of the wire to the engine's request.
//
//   ASSIGN_OR_RETURN(engine::GenerationRequest request, ReadRequest(wire, tokens, now, deadline));
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/config.h"
#include "engine/generation/request.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::worker {

// `deadline`: of the call; the request's own is taken if it is earlier. INVALID_ARGUMENT names the field that is out
// of range. What depends on the model is checked by the engine.
absl::StatusOr<engine::GenerationRequest> ReadRequest(const v1::GenerateRequest& wire, std::vector<int32_t> prompt,
                                                      MonotonicTime now, std::optional<MonotonicTime> deadline);

// What happens at the context's end to requests that say nothing of it.
engine::Overflow OverflowOf(const config::ModelOptions& configured);

// The same for this request: as it says, else as configured. INVALID_ARGUMENT: no such choice.
absl::StatusOr<engine::Overflow> ReadOverflow(const v1::GenerateRequest& wire, const config::ModelOptions& configured);

}  // namespace inferd::worker
