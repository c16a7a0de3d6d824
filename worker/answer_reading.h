// How the answer to a chat is read: what of it is reasoning or a call of a tool, as far as the model's chat template
// has marks for them. Answers to plain text and to token ids are content alone.
//
//   ASSIGN_OR_RETURN(engine::GenerationRequest request, ReadRequest(wire, prompt.tokens, now, deadline));
//   RETURN_IF_ERROR(SetAnswerParser(model, wire, prompt.opens_reasoning, request));
#pragma once

#include "absl/status/status.h"
#include "engine/generation/request.h"
#include "worker/loaded_model.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::worker {

// Sets the parser and the marks that it must see of `request`, whose prompt and seed are set. INVALID_ARGUMENT: the
// JSON of tool_choice is wrong.
absl::Status SetAnswerParser(const LoadedModel& model, const v1::GenerateRequest& wire, bool opens_reasoning,
                             engine::GenerationRequest& request);

}  // namespace inferd::worker
