// From what a client sends to the tokens that the model gets.
//
//   ASSIGN_OR_RETURN(const std::tm local_time, LocalTime(RenderTime(request, now)));
//   ASSIGN_OR_RETURN(RenderedChat rendered, RenderChat(model, request.chat(), local_time));
//   ASSIGN_OR_RETURN(Prompt prompt, ReadPrompt(model, request, local_time, limits));
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/base/local_time.h"
#include "config/base/warning.h"
#include "engine/generation/request.h"
#include "engine/template/chat_template.h"
#include "worker/loaded_model.h"

namespace inferd::v1 {
class ChatPrompt;
class GenerateRequest;
}  // namespace inferd::v1

namespace inferd::worker {

// The time, in seconds since 1970, that the template of a request is given: `now`, or for a continuation the time that
// its first worker took.
int64_t RenderTime(const v1::GenerateRequest& request, WallTime now);

struct RenderedChat {
  chat_template::RenderedPrompt prompt;
  std::vector<Warning> warnings;  // what the template does not show
};

// FAILED_PRECONDITION: the model has no chat template. INVALID_ARGUMENT: a message or JSON text is wrong, or the
// template refuses the messages.
absl::StatusOr<RenderedChat> RenderChat(const LoadedModel& model, const v1::ChatPrompt& chat, const std::tm& now);

struct Prompt {
  std::vector<int32_t> tokens;   // with BOS once where the file asks for it
  bool opens_reasoning = false;  // the template has begun the reasoning that the answer goes on with
  std::vector<Warning> warnings;
};

// INVALID_ARGUMENT: no prompt is set. OUT_OF_RANGE: its text is far beyond the window of `limits`.
absl::StatusOr<Prompt> ReadPrompt(const LoadedModel& model, const v1::GenerateRequest& request, const std::tm& now,
                                  const engine::RequestLimits& limits);

// kNone: template and answer have no tools; kForced: the answer must be a call. INVALID_ARGUMENT: not a tool_choice.
enum class ToolChoice { kNone, kAuto, kForced };
absl::StatusOr<ToolChoice> ToolChoiceOf(const v1::ChatPrompt& chat);

// The tool that tool_choice names; empty if it names none. INVALID_ARGUMENT: it is an object that names none.
absl::StatusOr<std::string> ForcedTool(const v1::ChatPrompt& chat);

// Text to tokens as Tokenize and Generate do it. INVALID_ARGUMENT names `field`, where the text is from.
absl::StatusOr<std::vector<int32_t>> EncodeText(const LoadedModel& model, std::string_view field,
                                                const std::string& text, bool add_special, bool parse_special);

}  // namespace inferd::worker
