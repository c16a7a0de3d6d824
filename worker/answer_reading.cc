#include "worker/answer_reading.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/output/answer_parser.h"
#include "inferd/v1/inference.pb.h"
#include "worker/call_id.h"
#include "worker/prompt.h"

namespace inferd::worker {
namespace {

// Ascending. What the file does not have as one token comes as text in any case.
std::vector<int32_t> TokensOf(const output::AnswerFormat& format, const tokenizer::Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (std::string_view marker : format.Markers()) {
    if (const std::optional<int32_t> id = tokenizer.FindSpelling(marker)) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

absl::Status SetAnswerParser(const LoadedModel& model, const v1::GenerateRequest& wire, bool opens_reasoning,
                             engine::GenerationRequest& request) {
  if (!wire.has_chat()) return absl::OkStatus();
  const v1::ChatPrompt& chat = wire.chat();
  ASSIGN_OR_RETURN(const ToolChoice choice, ToolChoiceOf(chat));
  output::AnswerOptions options{.format = model.answer_format,
                                .in_reasoning = opens_reasoning,
                                .must_call = choice == ToolChoice::kForced,
                                .parallel_calls = !chat.has_parallel_tool_calls() || chat.parallel_tool_calls()};
  if (choice != ToolChoice::kNone) options.tools = output::ToolSchemas::Parse(chat.tools_json());
  if (options.tools.empty()) options.format.calls = nullptr;  // nobody reads the marks of calls: they stay hidden
  request.spelled_tokens = TokensOf(options.format, *model.tokenizer);
  request.make_parser = [options, key = CallIdKey(request.seed, request.prompt)](uint32_t choice) {
    output::AnswerOptions of_choice = options;
    of_choice.call_id = [key, choice](uint32_t index) { return CallId(key, choice, index); };
    return output::MakeAnswerParser(std::move(of_choice));
  };
  return absl::OkStatus();
}

}  // namespace inferd::worker
