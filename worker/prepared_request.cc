#include "worker/prepared_request.h"

#include <ctime>
#include <utility>

#include "config/base/local_time.h"
#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"
#include "worker/answer_reading.h"
#include "worker/constraint_reading.h"
#include "worker/generation_request.h"
#include "worker/prompt.h"

namespace inferd::worker {
namespace {

// A call of a tool is delivered with an id of its own, and its arguments may be written with more bytes than the tokens
// had (quotes, escapes).
constexpr uint64_t kMostDeliveredPerByte = 6;

}  // namespace

absl::Status CheckDelivered(const v1::GenerateRequest& wire, const tokenizer::Tokenizer& tokenizer) {
  for (const v1::ResumeState& state : wire.resume_tokens()) {
    uint64_t bytes = 0;
    for (int32_t id : state.ids()) {
      if (id < 0 || id >= tokenizer.vocabulary_size()) continue;  // refused with its own words later
      bytes += tokenizer.TokenBytes(id, /*with_special=*/true).size();
    }
    if (state.delivered_bytes() <= kMostDeliveredPerByte * bytes) continue;
    return InvalidField("resume_tokens", "choice {} has {} delivered bytes, its {} tokens make at most {}",
                        state.choice(), state.delivered_bytes(), state.ids_size(), kMostDeliveredPerByte * bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<PreparedRequest> PrepareRequest(const LoadedModel& model, const v1::GenerateRequest& wire,
                                               const PreparationTimes& times) {
  if (!model.can_generate())
    return AtField("model", FailedPrecondition("{} has no head to generate with", model.options.name));
  const absl::StatusOr<std::tm> local_time = LocalTime(times.rendered_unix_seconds);
  if (!local_time.ok()) return AtField("rendered_unix_seconds", local_time.status());
  ASSIGN_OR_RETURN(Prompt prompt, ReadPrompt(model, wire, *local_time, model.engine->limits()));
  ASSIGN_OR_RETURN(engine::GenerationRequest request,
                   ReadRequest(wire, std::move(prompt.tokens), times.arrival, times.deadline));
  if (!wire.cache_salt().empty()) request.cache_salt = model.engine->SaltOf(wire.cache_salt());
  ASSIGN_OR_RETURN(request.overflow, ReadOverflow(wire, model.options));
  RETURN_IF_ERROR(CheckDelivered(wire, *model.tokenizer));
  RETURN_IF_ERROR(SetAnswerParser(model, wire, prompt.opens_reasoning, request));
  RETURN_IF_ERROR(model.engine->Check(request));
  ASSIGN_OR_RETURN(const auto constrained, ReadConstraint(model, wire, prompt.opens_reasoning));
  PreparedRequest prepared{.warnings = std::move(prompt.warnings)};
  if (constrained) {
    ASSIGN_OR_RETURN(request.constraint, model.engine->Constrain(*constrained));
    const std::vector<Warning>& more = *request.constraint->warnings;
    prepared.warnings.insert(prepared.warnings.end(), more.begin(), more.end());
  }
  prepared.request = std::move(request);
  return prepared;
}

}  // namespace inferd::worker
