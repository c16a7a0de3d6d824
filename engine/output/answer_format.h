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
  kJson,        // {"name": ..., "arguments": {...}}, or a list of such objects
  kKeyedJson,   // {NAME: {...}}
  kNamedJson,   // the name, a mark, the arguments
  kParameters,  // the name, then each parameter by itself between marks (ParameterMarks)
  kPython,      // NAME(key=value, ...) with Python's literals, in a list
  kGemma,       // call:NAME{key:value, ...} with marks around strings
};

// How several calls of an answer stand.
enum class Several : uint8_t {
  kMarks,  // each between marks of its own
  kList,   // as a JSON list between the marks
  kLines,  // one on each line between the marks
};

struct ParameterMarks {
  std::string_view function_open;  // before the name; empty: it stands directly behind the mark of the call
  std::string_view name_end;       // empty: the end of the line
  std::string_view key_open, key_close;
  std::string_view value_open, value_close;
  std::string_view function_close;    // empty: the mark that closes the call
  bool own_lines = false;             // values stand on lines of their own
  std::string_view string_mark = "";  // between key and value, where the value is a text as it is
  std::string_view json_mark = "";    // where it is JSON; both empty: its schema says which
  std::string_view token = "";        // within the marks, where the vocabulary has it: a control token
};

struct CallSyntax {
  std::string_view name;   // of the format
  std::string_view probe;  // what a chat template in this format contains
  std::string_view open;   // before a call
  std::string_view close;  // behind it; empty: the end of the JSON
  CallBody body = CallBody::kJson;
  Several several = Several::kMarks;
  std::string_view id_end = "";      // of kNamedJson: an id stands before the name, and this between them
  std::string_view name_end = "";    // of kNamedJson
  std::string_view list_begin = "";  // around all calls of an answer; mean nothing by themselves
  std::string_view list_end = "";
  bool composed = false;               // the template puts its marks together, so that `open` is not in its source
  bool bare = false;                   // an answer that begins with the JSON of a call of a known tool is a call, too
  bool writes_bare = false;            // and that is how the model writes calls
  std::string_view name_key = "name";  // of kJson
  std::string_view arguments_key = "arguments";  // of kJson
  std::string_view id_key = "";                  // of kJson: a number as text before the name; empty: none
  ParameterMarks parameters = {};                // of kParameters
};

struct AnswerFormat {
  const CallSyntax* calls = nullptr;     // null: no calls of tools are read
  std::string_view reasoning_open = "";  // both empty: no reasoning
  std::string_view reasoning_close = "";
  std::string_view reasoning_label = "";  // directly behind the opening mark; no part of the reasoning
  bool channels = false;                  // gpt-oss: every message names its channel

  bool has_calls() const { return calls != nullptr || channels; }
  // The template has no form of calls that is known: GenericCalls() are described to the model beside the template.
  bool has_generic_calls() const;
  std::vector<std::string_view> Markers() const;
};

constexpr std::string_view kGemmaQuote = "<|\"|>";  // around the strings of kGemma

// A JSON object with name and arguments between marks, for models whose template has no known form of calls.
const CallSyntax& GenericCalls();

// Every template has calls: its own, or GenericCalls().
AnswerFormat RecognizeFormat(std::string_view chat_template);
// Whether a prompt ends inside of the reasoning, because the template has opened it.
bool EndsInReasoning(const AnswerFormat& format, std::string_view prompt);

}  // namespace inferd::output
