// The forms are those that engine/output reads; it takes more than is written here.
#include "engine/constraint/answer_grammar.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/schema_merge.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr uint32_t kMostBlank = 8;
constexpr size_t kMostTools = 128;
constexpr int kDeepestTools = 100;

bool IsStrict(const json::object& function) {
  const json::value* strict = function.if_contains("strict");
  return strict != nullptr && *strict == true;
}

}  // namespace

ExprId AnswerGrammar::Mark(std::string_view spelling) {
  const std::optional<int32_t> control = find_control_(spelling);
  return control ? grammar_.Marker(*control) : grammar_.Literal(spelling);
}

ExprId AnswerGrammar::Blank() {
  ByteSet blank;
  for (unsigned char byte : {' ', '\t', '\r', '\n'}) blank.set(byte);
  return grammar_.Repeat(grammar_.Bytes(blank), 0, kMostBlank);
}

ExprId AnswerGrammar::Until(std::string_view mark) {
  if (find_control_(mark)) return grammar_.Sequence({grammar_.Star(grammar_.Chars(CharSet::Any())), Mark(mark)});
  return SearchMark(mark, /*may_end=*/false, [&] { return grammar_.Empty(); });
}

ExprId AnswerGrammar::TextOrMarked(std::string_view mark, ExprId rest) {
  if (find_control_(mark)) {
    return grammar_.Sequence(
        {grammar_.Star(grammar_.Chars(CharSet::Any())), grammar_.Optional(grammar_.Sequence({Mark(mark), rest}))});
  }
  return SearchMark(mark, /*may_end=*/true, [&] { return rest; });
}

// One rule for each beginning of the mark that the text may end in (Knuth, Morris and Pratt, "Fast pattern matching in
// strings", 1977).
template <typename AtMark>
ExprId AnswerGrammar::SearchMark(std::string_view mark, bool may_end, AtMark at_mark) {
  std::vector<RuleId> rules;
  for (size_t i = 0; i < mark.size(); ++i) rules.push_back(grammar_.AddRule("text"));
  for (size_t length = 0; length < mark.size(); ++length) {
    std::vector<ByteSet> leads(mark.size() + 1);  // to each length
    for (size_t byte = 0; byte < 256; ++byte) {
      const std::string text = std::string(mark.substr(0, length)) + static_cast<char>(byte);
      size_t next = text.size();
      while (next > 0 && !text.ends_with(mark.substr(0, next))) --next;
      leads[next].set(byte);
    }
    std::vector<ExprId> choices;
    if (may_end) choices.push_back(grammar_.Empty());
    for (size_t next = 0; next < leads.size(); ++next) {
      if (leads[next].none()) continue;
      const ExprId rest = next == mark.size() ? at_mark() : grammar_.Call(rules[next]);
      choices.push_back(grammar_.Sequence({grammar_.Bytes(leads[next]), rest}));
    }
    grammar_.Define(rules[length], grammar_.Choice(std::move(choices)));
  }
  return grammar_.Call(rules[0]);
}

ExprId AnswerGrammar::WithReasoning(ExprId answer) {
  if (format_.channels) {
    const ExprId thought = grammar_.Sequence({Mark("<|channel|>"), grammar_.Literal("analysis"), Mark("<|message|>"),
                                              Until("<|end|>"), Mark("<|start|>"), grammar_.Literal("assistant")});
    return grammar_.Sequence({grammar_.Star(thought), answer});
  }
  if (format_.reasoning_open.empty()) return answer;
  const ExprId rest = grammar_.Sequence({Until(format_.reasoning_close), Blank()});
  if (in_reasoning_) return grammar_.Sequence({rest, answer});
  return grammar_.Sequence({grammar_.Optional(grammar_.Sequence({Mark(format_.reasoning_open), rest})), answer});
}

ExprId AnswerGrammar::Content(ExprId content) {
  if (!format_.channels) return content;
  return grammar_.Sequence({Mark("<|channel|>"), grammar_.Literal("final"), Mark("<|message|>"), content});
}

absl::StatusOr<ExprId> AnswerGrammar::Calls(const CallDemand& demand) {
  if (!has_calls()) {
    return FailedPrecondition("chat.tool_choice_json: the model's chat template has no known form of tool calls");
  }
  ASSIGN_OR_RETURN(const ExprId call, AnyCall(demand));
  return Around(call, demand.parallel && demand.name.empty());
}

absl::StatusOr<ExprId> AnswerGrammar::TextOrCalls(const CallDemand& demand) {
  CHECK(CanBindAfterText(format_));
  ASSIGN_OR_RETURN(const ExprId call, AnyCall(demand));
  const output::CallSyntax& syntax = *format_.calls;
  const std::string_view mark = syntax.list_begin.empty() ? syntax.open : syntax.list_begin;
  return TextOrMarked(mark, MarkedCalls(call, demand.parallel, /*opened=*/true));
}

absl::StatusOr<ExprId> AnswerGrammar::AnyCall(const CallDemand& demand) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = kDeepestTools;
  const json::value tools = json::parse(demand.tools_json, error, {}, options);
  if (error || !tools.is_array()) return InvalidArgument("chat.tools_json: is not a JSON array");
  if (tools.get_array().size() > kMostTools) {
    return InvalidArgument("chat.tools_json: {} tools, expected at most {}", tools.get_array().size(), kMostTools);
  }
  std::vector<ExprId> calls;
  size_t index = 0;
  for (const json::value& tool : tools.get_array()) {
    const std::string place = fmt::format("chat.tools_json[{}].function", index++);
    const json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    const json::value* name =
        function != nullptr && function->is_object() ? function->get_object().if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string()) return InvalidArgument("{}: has no name", place);
    if (!demand.name.empty() && View(name->get_string()) != demand.name) continue;
    const json::value* parameters = function->get_object().if_contains("parameters");
    if (parameters != nullptr && !parameters->is_object()) parameters = nullptr;
    ASSIGN_OR_RETURN(const ExprId call, Call({.name = std::string(View(name->get_string())),
                                              .parameters = parameters != nullptr ? &parameters->get_object() : nullptr,
                                              .place = place + ".parameters",
                                              .bound = !demand.strict || IsStrict(function->get_object())}));
    calls.push_back(call);
  }
  if (calls.empty()) {
    return InvalidArgument("chat.tool_choice_json: there is no tool {}", demand.name.empty() ? "at all" : demand.name);
  }
  return grammar_.Named("call", grammar_.Choice(std::move(calls)));
}

// The arguments as JSON.
absl::StatusOr<ExprId> AnswerGrammar::Arguments(const Tool& tool) {
  if (!tool.bound) return json_.AnyObject();
  if (tool.parameters == nullptr || tool.parameters->empty()) return json_.List("{", grammar_.Empty(), 0, 0, "}");
  ASSIGN_OR_RETURN(const Object schema, MergeSchemas(*tool.parameters, {{"type", "object"}}, "#"));
  const absl::StatusOr<ExprId> expr = ReadJsonSchema(json::value(schema), grammar_);
  if (!expr.ok()) return Annotate(expr.status(), tool.place);
  return grammar_.Named("arguments", *expr);
}

absl::StatusOr<ExprId> AnswerGrammar::Call(const Tool& tool) {
  if (format_.channels) {
    ASSIGN_OR_RETURN(const ExprId arguments, Arguments(tool));
    return grammar_.Sequence({Mark("<|channel|>"), grammar_.Literal("commentary to=functions." + tool.name + " "),
                              grammar_.Optional(grammar_.Sequence({Mark("<|constrain|>"), grammar_.Literal("json")})),
                              Mark("<|message|>"), arguments});
  }
  switch (format_.calls->body) {
    case output::CallBody::kJson: {
      ASSIGN_OR_RETURN(const ExprId arguments, Arguments(tool));
      const ExprId name = json_.Member(grammar_.Literal("\"name\""), json_.Literal(json::value(tool.name)));
      const ExprId key = grammar_.Literal(format_.calls->bare ? "\"parameters\"" : "\"arguments\"");
      return grammar_.Sequence({grammar_.Byte('{'), json_.Space(), name, json_.Comma(), json_.Member(key, arguments),
                                json_.Space(), grammar_.Byte('}')});
    }
    case output::CallBody::kNamedJson:
      return NamedCall(tool);
    case output::CallBody::kFunctions:
    case output::CallBody::kArguments:
      return Parameters(tool);
  }
  return grammar_.Nothing();
}

absl::StatusOr<ExprId> AnswerGrammar::NamedCall(const Tool& tool) {
  const output::CallSyntax& syntax = *format_.calls;
  ASSIGN_OR_RETURN(const ExprId arguments, Arguments(tool));
  const ExprId name_end = Mark(syntax.name_end);
  if (syntax.name == "kimi") {
    ByteSet digits;
    for (unsigned char digit = '0'; digit <= '9'; ++digit) digits.set(digit);
    return grammar_.Sequence({grammar_.Literal("functions." + tool.name + ":"),
                              grammar_.Repeat(grammar_.Bytes(digits), 1, 3), name_end, arguments});
  }
  const ExprId plain = grammar_.Sequence({grammar_.Literal(tool.name), name_end, arguments});
  if (syntax.name != "deepseek") return plain;
  const ExprId block =
      grammar_.Sequence({grammar_.Literal("function"), name_end, grammar_.Literal(tool.name + "\n```json\n"), arguments,
                         grammar_.Literal("\n```")});
  return grammar_.Choice({plain, block});
}

// Forms that write each parameter by itself.
absl::StatusOr<ExprId> AnswerGrammar::Parameters(const Tool& tool) {
  const bool functions = format_.calls->body == output::CallBody::kFunctions;
  std::vector<ExprId> parts = {grammar_.Literal(functions ? "\n<function=" + tool.name + ">\n" : tool.name + "\n")};
  const json::value* properties = tool.parameters != nullptr ? tool.parameters->if_contains("properties") : nullptr;
  const json::value* required = tool.parameters != nullptr ? tool.parameters->if_contains("required") : nullptr;
  for (const auto& [key, value] :
       properties != nullptr && properties->is_object() ? properties->get_object() : Object()) {
    const std::string name(key.data(), key.size());
    const std::string before =
        functions ? "<parameter=" + name + ">\n" : "<arg_key>" + name + "</arg_key>\n<arg_value>";
    const std::string_view after = functions ? "\n</parameter>\n" : "</arg_value>\n";
    const Object schema = value.is_object() ? value.get_object() : Object();
    ASSIGN_OR_RETURN(const ExprId written, PlainValue(schema, tool, name, after));
    const ExprId part = grammar_.Sequence({grammar_.Literal(before), written});
    const bool needed = required != nullptr && required->is_array() &&
                        std::find(required->get_array().begin(), required->get_array().end(), json::value(key)) !=
                            required->get_array().end();
    parts.push_back(needed ? part : grammar_.Optional(part));
  }
  if (functions) parts.push_back(grammar_.Literal("</function>\n"));
  return grammar_.Sequence(std::move(parts));
}

// A string is written as it is, other values as JSON; `end` comes behind both.
absl::StatusOr<ExprId> AnswerGrammar::PlainValue(const Object& schema, const Tool& tool, std::string_view key,
                                                 std::string_view end) {
  const json::value* type = schema.if_contains("type");
  if (type == nullptr || *type != "string") {
    Object whole = schema;
    for (const char* shared : {"$defs", "definitions"}) {
      if (const json::value* definitions = tool.parameters->if_contains(shared)) whole[shared] = *definitions;
    }
    const absl::StatusOr<ExprId> expr = ReadJsonSchema(json::value(whole), grammar_);
    if (!expr.ok()) return Annotate(expr.status(), fmt::format("{}.properties.{}", tool.place, key));
    return grammar_.Sequence({*expr, grammar_.Literal(end)});
  }
  const json::value* values = schema.if_contains("enum");
  if (values == nullptr || !values->is_array()) return Until(end);
  std::vector<ExprId> choices;
  for (const json::value& value : values->get_array()) {
    if (value.is_string()) choices.push_back(grammar_.Literal(View(value.get_string())));
  }
  return grammar_.Sequence({grammar_.Choice(std::move(choices)), grammar_.Literal(end)});
}

// The marks of one call, and of several.
ExprId AnswerGrammar::Around(ExprId call, bool parallel) {
  const auto several = [&](ExprId one, ExprId between) {
    return parallel ? grammar_.Sequence({one, grammar_.Star(grammar_.Sequence({between, one}))}) : one;
  };
  if (format_.channels) {
    const ExprId between = grammar_.Sequence({Mark("<|end|>"), Mark("<|start|>"), grammar_.Literal("assistant")});
    return several(call, between);
  }
  const output::CallSyntax& syntax = *format_.calls;
  if (syntax.bare) return several(call, grammar_.Literal("; "));
  return MarkedCalls(call, parallel, /*opened=*/false);
}

// `opened`: the first mark is there already.
ExprId AnswerGrammar::MarkedCalls(ExprId call, bool parallel, bool opened) {
  const output::CallSyntax& syntax = *format_.calls;
  const auto more = [&](ExprId first, ExprId between, ExprId one) {
    return parallel ? grammar_.Sequence({first, grammar_.Star(grammar_.Sequence({between, one}))}) : first;
  };
  const auto open = [&](bool done, std::string_view mark, ExprId rest) {
    return done ? rest : grammar_.Sequence({Mark(mark), rest});
  };
  if (syntax.close.empty() && syntax.body == output::CallBody::kJson) {
    const ExprId list = grammar_.Sequence(
        {grammar_.Byte('['), json_.Space(), more(call, json_.Comma(), call), json_.Space(), grammar_.Byte(']')});
    return open(opened, syntax.open, grammar_.Sequence({grammar_.Optional(grammar_.Byte(' ')), list}));
  }
  const ExprId line = grammar_.Optional(grammar_.Byte('\n'));
  ExprId body = call;
  if (syntax.body == output::CallBody::kJson) body = grammar_.Sequence({line, call, line});
  if (!syntax.close.empty()) body = grammar_.Sequence({body, Mark(syntax.close)});
  body = grammar_.Named("call body", body);
  const ExprId marked = open(false, syntax.open, body);
  if (syntax.list_begin.empty()) return more(open(opened, syntax.open, body), line, marked);
  return open(opened, syntax.list_begin, grammar_.Sequence({more(marked, line, marked), Mark(syntax.list_end)}));
}

bool AsksForStrictCalls(std::string_view tools_json) {
  if (tools_json.find("\"strict\"") == tools_json.npos) return false;
  json::error_code error;
  json::parse_options options;
  options.max_depth = kDeepestTools;
  const json::value tools = json::parse(tools_json, error, {}, options);
  if (error || !tools.is_array()) return false;
  return std::any_of(tools.get_array().begin(), tools.get_array().end(), [](const json::value& tool) {
    const json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    return function != nullptr && function->is_object() && IsStrict(function->get_object());
  });
}

bool CanBindAfterText(const output::AnswerFormat& format) {
  if (format.channels || format.calls == nullptr || format.calls->bare) return false;
  return format.calls->body == output::CallBody::kJson || format.calls->body == output::CallBody::kNamedJson;
}

}  // namespace inferd::constraint
