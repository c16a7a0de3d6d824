#include "engine/constraint/answer_constraint.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "engine/constraint/bindable_tools.h"
#include "engine/constraint/gbnf.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/regex.h"

namespace inferd::constraint {
namespace {

const char* FieldName(OutputKind kind) {
  switch (kind) {
    case OutputKind::kJsonSchema:
      return "constraint.json_schema";
    case OutputKind::kRegex:
      return "constraint.regex";
    case OutputKind::kGrammar:
      return "constraint.grammar";
    case OutputKind::kChoice:
      return "constraint.choice";
    case OutputKind::kFree:
      return "chat.tool_choice_json";
    case OutputKind::kJsonObject:
      break;
  }
  return "constraint.json_object";
}

absl::StatusOr<ExprId> ChoiceOf(const std::string& texts_json, Grammar& grammar) {
  boost::json::error_code error;
  const boost::json::value texts = boost::json::parse(texts_json, error);
  if (error || !texts.is_array()) return InvalidArgument("is not a JSON array");
  std::vector<ExprId> choices;
  for (const boost::json::value& text : texts.get_array()) {
    if (!text.is_string() || text.get_string().empty()) {
      return InvalidArgument("text {} is empty, expected 1 byte at least", choices.size());
    }
    choices.push_back(grammar.Literal({text.get_string().data(), text.get_string().size()}));
  }
  if (choices.empty()) return InvalidArgument("is empty, expected a text at least");
  return grammar.Choice(std::move(choices));
}

absl::StatusOr<ExprId> ContentOf(const OutputWish& wish, Grammar& grammar, std::vector<SchemaWarning>& warnings) {
  if (wish.text.size() > kMostSourceBytes) {
    return InvalidArgument("{} bytes, expected at most {}", wish.text.size(), kMostSourceBytes);
  }
  switch (wish.kind) {
    case OutputKind::kJsonSchema:
      return ReadJsonSchema(wish.text, grammar, {.warnings = &warnings});
    case OutputKind::kRegex:
      return ReadRegex(wish.text, grammar);
    case OutputKind::kGrammar:
      RETURN_IF_ERROR(ReadGbnf(wish.text, grammar));
      return grammar.Call(grammar.root());
    case OutputKind::kChoice:
      return ChoiceOf(wish.text, grammar);
    case OutputKind::kJsonObject:
      return JsonGrammar(grammar).AnyObject();
    case OutputKind::kFree:
      break;
  }
  return grammar.Nothing();
}

absl::StatusOr<CompiledConstraint> Compile(const OutputWish& wish) {
  CompiledConstraint compiled;
  std::optional<CallDemand> demand = wish.calls;
  if (demand && wish.format.has_calls()) {
    BindableTools bindable = FindBindable(demand->tools_json, wish.format);
    demand->tools_json = std::move(bindable.tools_json);
    compiled.warnings = std::move(bindable.warnings);
  }
  Grammar grammar;
  AnswerGrammar answer(wish.format, wish.in_reasoning, wish.find_control, grammar);
  std::vector<SchemaWarning> schema_warnings;
  const absl::StatusOr<ExprId> content = ContentOf(wish, grammar, schema_warnings);
  if (!content.ok()) return AtField(FieldName(wish.kind), content.status());
  AddWarnings(FieldName(wish.kind), schema_warnings, compiled.warnings);
  const RuleId content_rule = grammar.AddRule("content");
  grammar.Define(content_rule, *content);
  if (wish.kind != OutputKind::kFree) {
    // By itself first: what no text satisfies is an error even where calls may come instead.
    grammar.set_root(content_rule);
    const absl::Status possible = Program::Create(grammar).status();
    if (!possible.ok()) return AtField(FieldName(wish.kind), possible);
  }
  ExprId whole = answer.Content(grammar.Call(content_rule));
  if (demand && (wish.kind == OutputKind::kFree || wish.format.has_calls())) {
    ASSIGN_OR_RETURN(const ExprId calls, wish.calls_after_text ? answer.TextOrCalls(*demand) : answer.Calls(*demand));
    compiled.warnings.insert(compiled.warnings.end(), answer.warnings().begin(), answer.warnings().end());
    whole = wish.kind == OutputKind::kFree ? calls : grammar.Choice({whole, calls});
  }
  const RuleId root = grammar.AddRule("answer");
  grammar.Define(root, answer.WithReasoning(whole));
  grammar.set_root(root);
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(grammar);
  if (!program.ok()) return AtField(FieldName(wish.kind), program.status());
  compiled.program = *std::move(program);
  return compiled;
}

}  // namespace

ConstraintSource SourceOf(OutputWish wish) {
  // A model has one form of calls, so that the tools say it all.
  std::string key = fmt::format("{} {} {} {} {}\n", static_cast<int>(wish.kind), wish.in_reasoning, wish.text.size(),
                                wish.format.channels, wish.format.reasoning_open);
  key += wish.text;
  if (wish.calls) {
    key += fmt::format("\n{} {} {}\n{}", wish.calls_after_text, wish.calls->parallel, wish.calls->name,
                       wish.calls->tools_json);
  }
  return {.key = std::move(key), .compile = [wish = std::move(wish)] { return Compile(wish); }};
}

}  // namespace inferd::constraint
