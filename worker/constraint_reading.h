// What a request asks of its output, besides that it is likely: the form of the content, or that it calls a tool.
//
//   ASSIGN_OR_RETURN(auto source, ReadConstraint(model, wire, prompt.opens_reasoning));
//   if (source) ASSIGN_OR_RETURN(request.constraint, model.engine->Constrain(*source));
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "engine/constraint/constraint_cache.h"
#include "worker/loaded_model.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::worker {

// nullopt: nothing. INVALID_ARGUMENT: the request asks for two things that exclude each other, or for a tool that it
// does not have. What is wrong with a schema or grammar, compiling it says. `model` outlives the source.
absl::StatusOr<std::optional<constraint::ConstraintSource>> ReadConstraint(const LoadedModel& model,
                                                                           const v1::GenerateRequest& wire,
                                                                           bool opens_reasoning);

}  // namespace inferd::worker
