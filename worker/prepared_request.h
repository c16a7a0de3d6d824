// The life of a request up to the engine's queue: template, tokens, checks.
//
//   ASSIGN_OR_RETURN(PreparedRequest prepared, PrepareRequest(model, wire, {.rendered_unix_seconds = now}));
//   ASSIGN_OR_RETURN(engine::RequestId id, model.engine->Submit(std::move(prepared.request), queue));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/base/warning.h"
#include "engine/generation/request.h"
#include "worker/loaded_model.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::worker {

struct PreparationTimes {
  // That the chat template is given.
  int64_t rendered_unix_seconds = 0;
  MonotonicTime arrival;
  // Of the call; the request's own is taken if it is earlier.
  std::optional<MonotonicTime> deadline;
};

struct PreparedRequest {
  engine::GenerationRequest request;
  std::vector<Warning> warnings;  // what of it is not kept, though it is answered
};

// Every error of Generate but those of the engine's queue. FAILED_PRECONDITION: the model cannot generate.
absl::StatusOr<PreparedRequest> PrepareRequest(const LoadedModel& model, const v1::GenerateRequest& wire,
                                               const PreparationTimes& times);

// INVALID_ARGUMENT: more bytes are said to be delivered than the tokens of a choice can make; they would swallow what
// comes after them.
absl::Status CheckDelivered(const v1::GenerateRequest& wire, const tokenizer::Tokenizer& tokenizer);

}  // namespace inferd::worker
