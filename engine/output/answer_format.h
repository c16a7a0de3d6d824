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
  bool bare = false;         // an answer that begins with the JSON of a call of a known tool is a call, too
  bool writes_bare = false;  // and that is how the model writes calls
  std::string_view arguments_key = "arguments";  // of kJson
  bool own_lines = false;                        // of kFunctions: values stand on lines of their own
};

struct AnswerFormat {
  const CallSyntax* calls = nullptr;     // null: no calls of tools are read
  std::string_view reasoning_open = "";  // both empty: no reasoning
  std::string_view reasoning_close = "";
  bool channels = false;  // gpt-oss: every message names its channel

  bool has_calls() const { return calls != nullptr || channels; }
  // The template has no form of calls that is known: GenericCalls() are described to the model beside the template.
  bool has_generic_calls() const;
  std::vector<std::string_view> Markers() const;
};

// A JSON object with name and arguments between marks, for models whose template has no known form of calls.
const CallSyntax& GenericCalls();

// Every template has calls: its own, or GenericCalls().
AnswerFormat RecognizeFormat(std::string_view chat_template);
// Whether a prompt ends inside of the reasoning, because the template has opened it.
bool EndsInReasoning(const AnswerFormat& format, std::string_view prompt);

}  // namespace inferd::output
