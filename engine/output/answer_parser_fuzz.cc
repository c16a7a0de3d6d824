// A byte for the format, one for the size of the pieces, then any text as an answer: in pieces and as a whole it gives
// the same parts, joined; and the ends of JSON values are the same, too.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/output/answer_parser.h"

namespace inferd::output {
namespace {

// What a chat template of each format contains.
constexpr std::string_view kTemplates[] = {"no calls",
                                           "<tool_call> <think></think>",
                                           "<tool_call>\n<function=example_function_name>",
                                           "<tool_call><arg_key><think></think>",
                                           "[TOOL_CALLS]",
                                           "[TOOL_CALLS][ARGS][THINK][/THINK]",
                                           "<think></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
                                           "<|tool_calls_section_begin|><|tool_call_begin|>",
                                           "<|tool_call|>",
                                           "\"parameters\": dictionary",
                                           "<|channel|><|message|>",
                                           "<function=example_function_name><seed:tool_call>",
                                           "",
                                           "｜DSML｜",
                                           "<minimax:tool_call>",
                                           "<tool_sep{}><think{}>",
                                           "<function=example_function_name>",
                                           "<|tool_call:begin|>",
                                           "<|START_ACTION|><|START_THINKING|><|END_THINKING|>",
                                           "<|tools_prefix|><|inner_prefix|><|inner_suffix|>",
                                           "<|tool_call><|channel><channel|>",
                                           "<|tool_call_start|>",
                                           "<|function_call|>",
                                           "<TOOLCALL>",
                                           "<tool_calls>[",
                                           "<tool_calls>"};

constexpr std::string_view kTools = R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
  "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"}}}}}])";

struct Answer {
  std::array<std::string, 2> texts;  // content and reasoning
  std::vector<ToolCallPart> calls;
  bool ended = false;
};

Answer Parse(std::string_view text, uint8_t choice, size_t piece) {
  const auto parser = MakeAnswerParser({.format = RecognizeFormat(kTemplates[choice % std::size(kTemplates)]),
                                        .tools = ToolSchemas::Parse((choice & 0x40) != 0 ? "" : kTools),
                                        .in_reasoning = (choice & 0x20) != 0,
                                        .parallel_calls = (choice & 0x80) == 0,
                                        .call_id = [](uint32_t index) { return std::to_string(index); }});
  Answer answer;
  const auto take = [&](const std::vector<OutputPart>& parts) {
    for (const OutputPart& part : parts) {
      if (part.kind != PartKind::kToolCall) {
        answer.texts[part.kind == PartKind::kReasoning ? 1 : 0] += part.text;
        continue;
      }
      if (part.tool_call.index > answer.calls.size()) std::abort();
      if (part.tool_call.index == answer.calls.size()) {
        answer.calls.push_back(part.tool_call);
      } else {
        answer.calls[part.tool_call.index].arguments += part.tool_call.arguments;
      }
    }
  };
  for (size_t at = 0; at < text.size() && !parser->ended(); at += piece) take(parser->Push(text.substr(at, piece)));
  take(parser->Finish());
  if (parser->has_tool_calls() != !answer.calls.empty()) std::abort();
  answer.ended = parser->ended();
  return answer;
}

void CheckEqual(const Answer& a, const Answer& b) {
  if (a.texts != b.texts || a.calls.size() != b.calls.size()) std::abort();
  for (size_t i = 0; i < a.calls.size(); ++i) {
    if (a.calls[i].name != b.calls[i].name || a.calls[i].arguments != b.calls[i].arguments) std::abort();
  }
}

}  // namespace
}  // namespace inferd::output

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferd::output;
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t piece = 1 + data[1] % 32;
  const Answer whole = Parse(text, data[0], std::max<size_t>(text.size(), 1)), parts = Parse(text, data[0], piece);
  CheckEqual(whole, parts);
  return 0;
}
