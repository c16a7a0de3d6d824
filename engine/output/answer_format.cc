#include "engine/output/answer_format.h"

namespace inferd::output {
namespace {

// In the order of trial: a probe that others contain comes first. The opening mark must be in the template, too, unless
// calls are written without it.
constexpr CallSyntax kSyntaxes[] = {
    {"glm", "<arg_key>", "<tool_call>", "</tool_call>", CallBody::kArguments},
    {"seed", "<function=example_function_name>", "<seed:tool_call>", "</seed:tool_call>", CallBody::kFunctions},
    {.name = "qwen-coder",
     .probe = "<function=example_function_name>",
     .open = "<tool_call>",
     .close = "</tool_call>",
     .body = CallBody::kFunctions,
     .own_lines = true},
    {"deepseek", "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", CallBody::kNamedJson,
     "<｜tool▁sep｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
    {"kimi", "<|tool_call_begin|>", "<|tool_call_begin|>", "<|tool_call_end|>", CallBody::kNamedJson,
     "<|tool_call_argument_begin|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
    {"mistral-named", "[ARGS]", "[TOOL_CALLS]", "", CallBody::kNamedJson, "[ARGS]"},
    {"mistral", "[TOOL_CALLS]", "[TOOL_CALLS]", "", CallBody::kJson},
    {"granite", "<|tool_call|>", "<|tool_call|>", "", CallBody::kJson},
    {"hermes", "<tool_call>", "<tool_call>", "</tool_call>", CallBody::kJson},
    {.name = "llama",
     .probe = "\"parameters\": dictionary",
     .open = "<|python_tag|>",
     .close = "",
     .body = CallBody::kJson,
     .bare = true,
     .writes_bare = true,
     .arguments_key = "parameters"},
};
constexpr CallSyntax kGeneric = {.name = "generic",
                                 .probe = "",
                                 .open = "<tool_call>",
                                 .close = "</tool_call>",
                                 .body = CallBody::kJson,
                                 .bare = true};

struct ReasoningSyntax {
  std::string_view open;
  std::string_view close;
};
constexpr ReasoningSyntax kReasonings[] = {
    {"<think>", "</think>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}};

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

AnswerFormat RecognizeFormat(std::string_view chat_template) {
  AnswerFormat format;
  format.channels = Contains(chat_template, "<|channel|>") && Contains(chat_template, "<|message|>");
  if (format.channels) return format;
  for (const CallSyntax& syntax : kSyntaxes) {
    if (!Contains(chat_template, syntax.probe)) continue;
    if (!syntax.writes_bare && !Contains(chat_template, syntax.open)) continue;
    format.calls = &syntax;
    break;
  }
  if (format.calls == nullptr) format.calls = &kGeneric;
  for (const ReasoningSyntax& reasoning : kReasonings) {
    // Both marks: some templates only name one of them in a text.
    if (!Contains(chat_template, reasoning.open) || !Contains(chat_template, reasoning.close)) continue;
    format.reasoning_open = reasoning.open;
    format.reasoning_close = reasoning.close;
    break;
  }
  return format;
}

const CallSyntax& GenericCalls() { return kGeneric; }
bool AnswerFormat::has_generic_calls() const { return calls == &kGeneric; }

std::vector<std::string_view> AnswerFormat::Markers() const {
  std::vector<std::string_view> markers;
  if (channels)
    markers = {"<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>", "<|call|>", "<|return|>"};
  if (calls != nullptr) {
    for (const std::string_view marker :
         {calls->open, calls->close, calls->name_end, calls->list_begin, calls->list_end}) {
      if (!marker.empty()) markers.push_back(marker);
    }
    if (calls->name == "mistral-named") markers.push_back("[CALL_ID]");
    if (calls->body == CallBody::kArguments) {
      markers.insert(markers.end(), {"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"});
    }
  }
  if (!reasoning_open.empty()) markers.insert(markers.end(), {reasoning_open, reasoning_close});
  return markers;
}

bool EndsInReasoning(const AnswerFormat& format, std::string_view prompt) {
  if (format.reasoning_open.empty()) return false;
  const size_t open = prompt.rfind(format.reasoning_open);
  if (open == prompt.npos) return false;
  const std::string_view rest = prompt.substr(open + format.reasoning_open.size());
  return rest.find_first_not_of(" \n") == rest.npos;
}

}  // namespace inferd::output
