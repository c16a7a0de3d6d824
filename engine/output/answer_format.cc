#include "engine/output/answer_format.h"

namespace inferd::output {
namespace {

constexpr ParameterMarks FunctionTags(bool own_lines) {
  return {.function_open = "<function=",
          .name_end = ">",
          .key_open = "<parameter=",
          .key_close = ">",
          .value_open = "",
          .value_close = "</parameter>",
          .function_close = "</function>",
          .own_lines = own_lines};
}

// In the order of trial: a probe that others contain comes first. The opening mark must be in the template, too, unless
// calls are written without it.
constexpr CallSyntax kSyntaxes[] = {
    {.name = "deepseek-dsml",
     .probe = "｜DSML｜",
     .open = "<｜DSML｜tool_calls>",
     .close = "</｜DSML｜tool_calls>",
     .body = CallBody::kParameters,
     .several = Several::kLines,
     .composed = true,
     .parameters = {.function_open = "<｜DSML｜invoke name=\"",
                    .name_end = "\">",
                    .key_open = "<｜DSML｜parameter name=\"",
                    .key_close = "\"",
                    .value_open = ">",
                    .value_close = "</｜DSML｜parameter>",
                    .function_close = "</｜DSML｜invoke>",
                    .string_mark = " string=\"true\"",
                    .json_mark = " string=\"false\"",
                    .token = "｜DSML｜"}},
    {.name = "minimax",
     .probe = "<minimax:tool_call>",
     .open = "<minimax:tool_call>",
     .close = "</minimax:tool_call>",
     .body = CallBody::kParameters,
     .several = Several::kLines,
     .parameters = {.function_open = "<invoke name=\"",
                    .name_end = "\">",
                    .key_open = "<parameter name=\"",
                    .key_close = "\">",
                    .value_open = "",
                    .value_close = "</parameter>",
                    .function_close = "</invoke>"}},
    {.name = "hunyuan",
     .probe = "<tool_sep{}>",
     .open = "<tool_call:opensource>",
     .close = "</tool_call:opensource>",
     .body = CallBody::kParameters,
     .list_begin = "<tool_calls:opensource>",
     .list_end = "</tool_calls:opensource>",
     .composed = true,
     .parameters = {.function_open = "",
                    .name_end = "<tool_sep:opensource>",
                    .key_open = "<arg_key:opensource>",
                    .key_close = "</arg_key:opensource>",
                    .value_open = "<arg_value:opensource>",
                    .value_close = "</arg_value:opensource>",
                    .function_close = ""}},
    {.name = "glm",
     .probe = "<arg_key>",
     .open = "<tool_call>",
     .close = "</tool_call>",
     .body = CallBody::kParameters,
     .parameters = {.function_open = "",
                    .name_end = "",
                    .key_open = "<arg_key>",
                    .key_close = "</arg_key>",
                    .value_open = "<arg_value>",
                    .value_close = "</arg_value>",
                    .function_close = ""}},
    {.name = "seed",
     .probe = "<function=example_function_name>",
     .open = "<seed:tool_call>",
     .close = "</seed:tool_call>",
     .body = CallBody::kParameters,
     .parameters = FunctionTags(/*own_lines=*/false)},
    {.name = "qwen-coder",
     .probe = "<function=example_function_name>",
     .open = "<tool_call>",
     .close = "</tool_call>",
     .body = CallBody::kParameters,
     .parameters = FunctionTags(/*own_lines=*/true)},
    {.name = "functionary",
     .probe = "<function=example_function_name>",
     .open = "<function=",
     .close = "</function>",
     .body = CallBody::kNamedJson,
     .name_end = ">"},
    {.name = "deepseek",
     .probe = "<｜tool▁call▁begin｜>",
     .open = "<｜tool▁call▁begin｜>",
     .close = "<｜tool▁call▁end｜>",
     .body = CallBody::kNamedJson,
     .name_end = "<｜tool▁sep｜>",
     .list_begin = "<｜tool▁calls▁begin｜>",
     .list_end = "<｜tool▁calls▁end｜>"},
    {.name = "kimi",
     .probe = "<|tool_call_begin|>",
     .open = "<|tool_call_begin|>",
     .close = "<|tool_call_end|>",
     .body = CallBody::kNamedJson,
     .name_end = "<|tool_call_argument_begin|>",
     .list_begin = "<|tool_calls_section_begin|>",
     .list_end = "<|tool_calls_section_end|>"},
    {.name = "solar",
     .probe = "<|tool_call:begin|>",
     .open = "<|tool_call:begin|>",
     .close = "<|tool_call:end|>",
     .body = CallBody::kNamedJson,
     .id_end = "<|tool_call:name|>",
     .name_end = "<|tool_call:args|>",
     .list_begin = "<|tool_calls|>"},
    {.name = "command",
     .probe = "<|START_ACTION|>",
     .open = "<|START_ACTION|>",
     .close = "<|END_ACTION|>",
     .several = Several::kList,
     .name_key = "tool_name",
     .arguments_key = "parameters",
     .id_key = "tool_call_id"},
    {.name = "apertus",
     .probe = "<|tools_prefix|>",
     .open = "<|tools_prefix|>",
     .close = "<|tools_suffix|>",
     .body = CallBody::kKeyedJson,
     .several = Several::kList},
    {.name = "gemma",
     .probe = "<|tool_call>",
     .open = "<|tool_call>",
     .close = "<tool_call|>",
     .body = CallBody::kGemma},
    {.name = "python",
     .probe = "<|tool_call_start|>",
     .open = "<|tool_call_start|>",
     .close = "<|tool_call_end|>",
     .body = CallBody::kPython,
     .several = Several::kList},
    {.name = "python",  // LFM2, whose template does not show calls
     .probe = "<|tool_list_start|>",
     .open = "<|tool_call_start|>",
     .close = "<|tool_call_end|>",
     .body = CallBody::kPython,
     .several = Several::kList,
     .composed = true},
    {.name = "mistral-named",
     .probe = "[ARGS]",
     .open = "[TOOL_CALLS]",
     .close = "",
     .body = CallBody::kNamedJson,
     .name_end = "[ARGS]"},
    {.name = "mistral", .probe = "[TOOL_CALLS]", .open = "[TOOL_CALLS]", .close = "", .several = Several::kList},
    {.name = "granite", .probe = "<|tool_call|>", .open = "<|tool_call|>", .close = "", .several = Several::kList},
    {.name = "gigachat", .probe = "<|function_call|>", .open = "<|function_call|>", .close = ""},
    {.name = "nemotron",
     .probe = "<TOOLCALL>",
     .open = "<TOOLCALL>",
     .close = "</TOOLCALL>",
     .several = Several::kList},
    {.name = "apriel",
     .probe = "<tool_calls>[",
     .open = "<tool_calls>",
     .close = "</tool_calls>",
     .several = Several::kList},
    {.name = "minimax-json",
     .probe = "<tool_calls>",
     .open = "<tool_calls>",
     .close = "</tool_calls>",
     .several = Several::kLines},
    {.name = "hermes", .probe = "<tool_call>", .open = "<tool_call>", .close = "</tool_call>"},
    {.name = "llama",
     .probe = "\"parameters\": dictionary",
     .open = "<|python_tag|>",
     .close = "",
     .bare = true,
     .writes_bare = true,
     .arguments_key = "parameters"},
};
constexpr CallSyntax kGeneric = {
    .name = "generic", .probe = "", .open = "<tool_call>", .close = "</tool_call>", .bare = true};

struct ReasoningSyntax {
  std::string_view open, close;
  std::string_view label = "";
  std::string_view probe = "";  // in templates that put their marks together
};
constexpr ReasoningSyntax kReasonings[] = {{"<think>", "</think>"},
                                           {"[THINK]", "[/THINK]"},
                                           {"<seed:think>", "</seed:think>"},
                                           {"<|START_THINKING|>", "<|END_THINKING|>"},
                                           {"<|inner_prefix|>", "<|inner_suffix|>"},
                                           {"<|channel>", "<channel|>", "thought"},
                                           {"<think:opensource>", "</think:opensource>", "", "<think{}>"}};

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

AnswerFormat RecognizeFormat(std::string_view chat_template) {
  AnswerFormat format;
  format.channels = Contains(chat_template, "<|channel|>") && Contains(chat_template, "<|message|>");
  if (format.channels) return format;
  for (const CallSyntax& syntax : kSyntaxes) {
    if (!Contains(chat_template, syntax.probe)) continue;
    if (!syntax.writes_bare && !syntax.composed && !Contains(chat_template, syntax.open)) continue;
    format.calls = &syntax;
    break;
  }
  if (format.calls == nullptr) format.calls = &kGeneric;
  for (const ReasoningSyntax& reasoning : kReasonings) {
    // Both marks: some templates only name one of them in a text.
    const bool named = Contains(chat_template, reasoning.open) && Contains(chat_template, reasoning.close);
    const bool composed = !reasoning.probe.empty() && Contains(chat_template, reasoning.probe);
    if (!named && !composed) continue;
    format.reasoning_open = reasoning.open;
    format.reasoning_close = reasoning.close;
    format.reasoning_label = reasoning.label;
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
         {calls->open, calls->close, calls->id_end, calls->name_end, calls->list_begin, calls->list_end,
          calls->parameters.name_end, calls->parameters.key_open, calls->parameters.key_close,
          calls->parameters.value_open, calls->parameters.value_close, calls->parameters.function_close,
          calls->parameters.token}) {
      if (!marker.empty()) markers.push_back(marker);
    }
    if (calls->name == "mistral-named") markers.push_back("[CALL_ID]");
    if (calls->body == CallBody::kGemma) markers.push_back(kGemmaQuote);
  }
  if (!reasoning_open.empty()) markers.insert(markers.end(), {reasoning_open, reasoning_close});
  return markers;
}

bool EndsInReasoning(const AnswerFormat& format, std::string_view prompt) {
  if (format.reasoning_open.empty()) return false;
  const size_t open = prompt.rfind(format.reasoning_open);
  if (open == prompt.npos) return false;
  std::string_view rest = prompt.substr(open + format.reasoning_open.size());
  if (rest.starts_with(format.reasoning_label)) rest.remove_prefix(format.reasoning_label.size());
  return rest.find_first_not_of(" \n") == rest.npos;
}

}  // namespace inferd::output
