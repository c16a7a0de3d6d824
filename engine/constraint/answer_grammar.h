// What a model writes around a constrained answer: reasoning before it, and calls of tools in the form of its template.
//
//   AnswerGrammar answer(format, in_reasoning, find_control, grammar);
//   ASSIGN_OR_RETURN(ExprId calls, answer.Calls({.tools_json = tools, .name = "f", .parallel = false}));
//   grammar.Define(root, answer.WithReasoning(calls));
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/warning.h"
#include "engine/constraint/grammar.h"
#include "engine/constraint/json_grammar.h"
#include "engine/output/answer_format.h"

namespace inferd::constraint {

struct CallDemand {
  std::string tools_json;  // in OpenAI's form
  std::string name;        // of the only tool that may be called; empty: any
  bool parallel = true;    // more than one call may come
};

class AnswerGrammar {
 public:
  // The control token with this spelling: it has no text, so that it stands for itself.
  using FindControl = std::function<std::optional<int32_t>(std::string_view spelling)>;

  // `in_reasoning`: the prompt has begun it.
  AnswerGrammar(const output::AnswerFormat& format, bool in_reasoning, FindControl find_control, Grammar& grammar)
      : format_(format),
        in_reasoning_(in_reasoning),
        find_control_(std::move(find_control)),
        grammar_(grammar),
        json_(grammar) {}

  // One call or more; their arguments are bound to the schemas of their tools (bindable_tools.h takes from these what
  // cannot be bound). FAILED_PRECONDITION: the template has no known form of calls. INVALID_ARGUMENT: the tools are
  // wrong, or a schema of theirs.
  absl::StatusOr<ExprId> Calls(const CallDemand& demand);
  // Any text, with a call or more at its end; what follows the mark that opens a call is bound, and nothing before it.
  // In forms without a mark, an answer that begins with {"name" is a call. The same errors, and only where the format
  // has_calls().
  absl::StatusOr<ExprId> TextOrCalls(const CallDemand& demand);
  // An answer that is `content`, and what the format writes around content.
  ExprId Content(ExprId content);
  // Before it, the reasoning that the prompt has begun, or that the model may begin.
  ExprId WithReasoning(ExprId answer);

  // Of the schemas of the calls.
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  using Object = boost::json::object;
  struct Tool {
    std::string name;
    const Object* parameters;  // nullptr: none
    std::string place;
    bool strict = false;
  };

  ExprId Mark(std::string_view spelling);
  // The control token within the form's marks, if this spelling has it and the vocabulary, too.
  std::optional<int32_t> TokenWithin(std::string_view spelling) const;
  // Any text up to the first mark, and the mark.
  ExprId Until(std::string_view mark);
  ExprId Blank();
  absl::StatusOr<ExprId> Call(const Tool& tool);
  // Any text without the mark; or with the mark, and `rest` behind it.
  ExprId TextOrMarked(std::string_view mark, ExprId rest);
  // The same, but a text that begins as a call without a mark does.
  ExprId TextOrMarkedUnlessBare(std::string_view mark, ExprId rest);
  // What comes behind each beginning of the mark, from the empty one on.
  std::vector<RuleId> SearchMark(std::string_view mark, bool may_end, ExprId at_mark);
  ExprId Message(std::string_view channel, std::vector<ExprId> text);
  absl::StatusOr<ExprId> AnyCall(const CallDemand& demand);
  ExprId Around(ExprId call, bool parallel);
  ExprId BareCalls(ExprId call, bool parallel);
  ExprId MarkedCalls(ExprId call, bool parallel, bool opened);
  absl::StatusOr<ExprId> Arguments(const Tool& tool);
  // Of a schema at `place`.
  absl::StatusOr<ExprId> Schema(const boost::json::value& schema, const std::string& place, Grammar& grammar);
  absl::StatusOr<ExprId> JsonCall(const Tool& tool);
  absl::StatusOr<ExprId> NamedCall(const Tool& tool);
  // Of call_parameters.cc.
  absl::StatusOr<ExprId> ParametersByThemselves(const Tool& tool);
  absl::StatusOr<ExprId> PythonCall(const Tool& tool);
  absl::StatusOr<ExprId> GemmaCall(const Tool& tool);
  // Whether a value is written as the text that it is, and not as JSON.
  bool IsPlainText(const boost::json::value& schema, const boost::json::object& root) const;
  // `name=value` or alike of each property, with commas between them.
  using Written = std::function<absl::StatusOr<ExprId>(const std::string& name, const boost::json::value& schema)>;
  absl::StatusOr<ExprId> WithCommas(const Tool& tool, std::string_view comma, const Written& written);
  absl::StatusOr<ExprId> PlainValue(const boost::json::value& schema, const Tool& tool, std::string_view key,
                                    std::string_view mark);

  const output::AnswerFormat& format_;
  const bool in_reasoning_;
  const FindControl find_control_;
  Grammar& grammar_;
  JsonGrammar json_;
  std::vector<Warning> warnings_;
};

// Whether one of the functions has `strict: true`; tools_json in OpenAI's form.
bool AsksForStrictCalls(std::string_view tools_json);

}  // namespace inferd::constraint
