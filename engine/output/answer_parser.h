// The parser of a model's answers by the format of its chat template: content, reasoning and calls of tools.
//
//   AnswerFormat format = RecognizeFormat(chat_template_source);
//   request.make_parser = [=](uint32_t choice) {
//     return MakeAnswerParser({.format = format, .tools = ToolSchemas::Parse(tools_json),
//                              .in_reasoning = EndsInReasoning(format, prompt_text), .call_id = MakeId});
//   };
//
// Text may arrive in pieces of any size and gives the same parts, joined. Calls are given as they are written: the name
// first, then the arguments piece by piece. What looks like a call but is none is content: nothing that the model wrote
// is lost, but the marks and the whitespace next to them. A call that is cut short is given as far as it went.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/output/answer_format.h"
#include "engine/output/output_parser.h"
#include "engine/output/tool_schemas.h"

namespace inferd::output {

struct AnswerOptions {
  AnswerFormat format;
  ToolSchemas tools;           // none: text that looks like a call is content
  bool in_reasoning = false;   // the prompt ends inside of the reasoning
  bool must_call = false;      // the answer is a call: what may be the beginning of a mark at its end is one
  bool parallel_calls = true;  // false: the answer ends with its first call
  std::function<std::string(uint32_t index)> call_id;
};

std::unique_ptr<OutputParser> MakeAnswerParser(AnswerOptions options);

// For formats with channels (gpt-oss).
std::unique_ptr<OutputParser> MakeChannelParser(AnswerOptions options);

}  // namespace inferd::output
