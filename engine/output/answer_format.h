// How a model writes reasoning and calls of tools into its answers, recognised from its chat template: the template
// writes earlier answers back into the prompt in the same way.
//
//   AnswerFormat format = RecognizeFormat(chat_template_source);
//   for (std::string_view spelling : format.Markers()) show.insert(tokenizer.FindSpelling(spelling));
//
// Some markers are control tokens, which are hidden from clients: those that Markers() names must reach the parser.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferd::output {

// What stands between the marks of a call.
enum class CallBody : uint8_t {
  kJson,       // {"name": ..., "arguments": {...}}, or a list of such objects
  kNamedJson,  // the name, a mark, the arguments
  kFunctions,  // <function=name> <parameter=key> value </parameter> </function>
  kArguments,  // the name, then <arg_key>key</arg_key> <arg_value>value</arg_value>
};

struct CallSyntax {
  std::string_view name;   // of the format
  std::string_view probe;  // what a chat template in this format contains
  std::string_view open;   // before a call
  std::string_view close;  // behind it; empty: the end of the JSON
  CallBody body;
  std::string_view name_end = "";    // of kNamedJson
  std::string_view list_begin = "";  // around all calls of an answer; mean nothing by themselves
  std::string_view list_end = "";
  bool bare = false;  // an answer that is nothing but the JSON of a call of a known tool is a call, too
};

struct AnswerFormat {
  const CallSyntax* calls = nullptr;     // null: the model has no calls of tools
  std::string_view reasoning_open = "";  // both empty: no reasoning
  std::string_view reasoning_close = "";
  bool channels = false;  // gpt-oss: every message names its channel

  std::vector<std::string_view> Markers() const;
};

AnswerFormat RecognizeFormat(std::string_view chat_template);
// Whether a prompt ends inside of the reasoning, because the template has opened it.
bool EndsInReasoning(const AnswerFormat& format, std::string_view prompt);

}  // namespace inferd::output
