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
constexpr uint32_t kMostIdDigits = 3;  // of calls that are numbered
constexpr uint32_t kIdLetters = 10;    // of ids that are made up
constexpr size_t kMostTools = 128;
constexpr int kDeepestTools = 100;

bool IsStrict(const json::object& function) {
  const json::value* strict = function.if_contains("strict");
  return strict != nullptr && *strict == true;
}

ByteSet Digits() {
  ByteSet digits;
  for (unsigned char digit = '0'; digit <= '9'; ++digit) digits.set(digit);
  return digits;
}

}  // namespace

std::optional<int32_t> AnswerGrammar::TokenWithin(std::string_view spelling) const {
  const std::string_view token = format_.calls != nullptr ? format_.calls->parameters.token : "";
  if (token.empty() || spelling.find(token) == spelling.npos) return std::nullopt;
  return find_control_(token);
}

ExprId AnswerGrammar::Mark(std::string_view spelling) {
  if (spelling.empty()) return grammar_.Empty();
  if (const std::optional<int32_t> control = find_control_(spelling)) return grammar_.Marker(*control);
  const std::optional<int32_t> token = TokenWithin(spelling);
  if (!token) return grammar_.Literal(spelling);
  const std::string_view text = format_.calls->parameters.token;
  const size_t at = spelling.find(text);
  return grammar_.Sequence({grammar_.Literal(spelling.substr(0, at)), grammar_.Marker(*token),
                            grammar_.Literal(spelling.substr(at + text.size()))});
}

ExprId AnswerGrammar::Blank() {
  ByteSet blank;
  for (unsigned char byte : {' ', '\t', '\r', '\n'}) blank.set(byte);
  return grammar_.Repeat(grammar_.Bytes(blank), 0, kMostBlank);
}

ExprId AnswerGrammar::Until(std::string_view mark) {
  if (find_control_(mark)) return grammar_.Sequence({grammar_.Star(grammar_.Chars(CharSet::Any())), Mark(mark)});
  return grammar_.Call(SearchMark(mark, /*may_end=*/false, grammar_.Empty())[0]);
}

ExprId AnswerGrammar::TextOrMarked(std::string_view mark, ExprId rest) {
  // The text has no control tokens, so that what such a mark begins with may be text, too.
  if (find_control_(mark) || TokenWithin(mark)) {
    return grammar_.Sequence(
        {grammar_.Star(grammar_.Chars(CharSet::Any())), grammar_.Optional(grammar_.Sequence({Mark(mark), rest}))});
  }
  return grammar_.Call(SearchMark(mark, /*may_end=*/true, rest)[0]);
}

// Each rule knows how much of the beginning of a call the text has; what leaves it goes on as any text does.
ExprId AnswerGrammar::TextOrMarkedUnlessBare(std::string_view mark, ExprId rest) {
  constexpr std::string_view kBeginning = "{\"name\"";
  CharSet others = CharSet::Any();
  ExprId marked, text;
  if (find_control_(mark)) {
    marked = grammar_.Sequence({Mark(mark), rest});
    text = TextOrMarked(mark, rest);
  } else {
    const std::vector<RuleId> search = SearchMark(mark, /*may_end=*/true, rest);
    const auto first = static_cast<unsigned char>(mark[0]);
    others = others.Minus({{first, first}});
    marked = grammar_.Sequence({grammar_.Byte(first), grammar_.Call(mark.size() > 1 ? search[1] : search[0])});
    text = grammar_.Call(search[0]);
  }
  std::vector<RuleId> rules;
  for (size_t i = 0; i < kBeginning.size(); ++i) rules.push_back(grammar_.AddRule("text"));
  for (size_t i = 0; i < kBeginning.size(); ++i) {
    const auto expected = static_cast<unsigned char>(kBeginning[i]);
    const std::string_view skipped = i == 0 ? " \t\r\n;" : i == 1 ? " \t\r\n" : "";
    CharSet leaves = others.Minus({{expected, expected}});
    ByteSet stays;
    for (const char byte : skipped) {
      const auto code = static_cast<unsigned char>(byte);
      stays.set(code);
      leaves = leaves.Minus({{code, code}});
    }
    std::vector<ExprId> choices = {grammar_.Empty(), marked, grammar_.Sequence({grammar_.Chars(leaves), text})};
    if (stays.any()) choices.push_back(grammar_.Sequence({grammar_.Bytes(stays), grammar_.Call(rules[i])}));
    if (i + 1 < rules.size()) {
      choices.push_back(grammar_.Sequence({grammar_.Byte(expected), grammar_.Call(rules[i + 1])}));
    }
    grammar_.Define(rules[i], grammar_.Choice(std::move(choices)));
  }
  return grammar_.Call(rules[0]);
}

// One rule for each beginning of the mark that the text may end in (Knuth, Morris and Pratt, "Fast pattern matching in
// strings", 1977).
std::vector<RuleId> AnswerGrammar::SearchMark(std::string_view mark, bool may_end, ExprId at_mark) {
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
      const ExprId rest = next == mark.size() ? at_mark : grammar_.Call(rules[next]);
      choices.push_back(grammar_.Sequence({grammar_.Bytes(leads[next]), rest}));
    }
    grammar_.Define(rules[length], grammar_.Choice(std::move(choices)));
  }
  return rules;
}

ExprId AnswerGrammar::WithReasoning(ExprId answer) {
  if (format_.channels) {
    const ExprId thought = Message("analysis", {Until("<|end|>"), Mark("<|start|>"), grammar_.Literal("assistant")});
    return grammar_.Sequence({grammar_.Star(thought), answer});
  }
  if (format_.reasoning_open.empty()) return answer;
  const ExprId rest = grammar_.Sequence({Until(format_.reasoning_close), Blank()});
  if (in_reasoning_) return grammar_.Sequence({rest, answer});
  return grammar_.Sequence({grammar_.Optional(grammar_.Sequence({Mark(format_.reasoning_open), rest})), answer});
}

ExprId AnswerGrammar::Content(ExprId content) {
  if (!format_.channels) return content;
  return Message("final", {content});
}

absl::StatusOr<ExprId> AnswerGrammar::Calls(const CallDemand& demand) {
  if (!format_.has_calls()) {
    return AtField("chat.tool_choice_json",
                   FailedPrecondition("the model's chat template has no known form of tool calls"));
  }
  ASSIGN_OR_RETURN(const ExprId call, AnyCall(demand));
  return Around(call, demand.parallel && demand.name.empty());
}

absl::StatusOr<ExprId> AnswerGrammar::TextOrCalls(const CallDemand& demand) {
  ASSIGN_OR_RETURN(const ExprId call, AnyCall(demand));
  if (format_.channels) {
    // What an answer says before its calls is a message of the calls' channel.
    const ExprId preamble = Message("commentary", {Until("<|end|>"), Mark("<|start|>"), grammar_.Literal("assistant")});
    const ExprId thought = Message("analysis", {Until("<|end|>"), Mark("<|start|>"), grammar_.Literal("assistant")});
    const ExprId final_text = Content(grammar_.Star(grammar_.Chars(CharSet::Any())));
    return grammar_.Sequence({grammar_.Star(grammar_.Choice({preamble, thought})),
                              grammar_.Choice({final_text, Around(call, demand.parallel)})});
  }
  const output::CallSyntax& syntax = *format_.calls;
  const std::string_view mark = syntax.list_begin.empty() ? syntax.open : syntax.list_begin;
  const ExprId marked = MarkedCalls(call, demand.parallel, /*opened=*/true);
  if (!syntax.bare) return TextOrMarked(mark, marked);
  return grammar_.Choice({BareCalls(call, demand.parallel), TextOrMarkedUnlessBare(mark, marked)});
}

// Of one channel.
ExprId AnswerGrammar::Message(std::string_view channel, std::vector<ExprId> text) {
  text.insert(text.begin(), {Mark("<|channel|>"), grammar_.Literal(channel), Mark("<|message|>")});
  return grammar_.Sequence(std::move(text));
}

ExprId AnswerGrammar::BareCalls(ExprId call, bool parallel) {
  if (!parallel) return call;
  return grammar_.Sequence({call, grammar_.Star(grammar_.Sequence({grammar_.Literal("; "), call}))});
}

absl::StatusOr<ExprId> AnswerGrammar::AnyCall(const CallDemand& demand) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = kDeepestTools;
  const json::value tools = json::parse(demand.tools_json, error, {}, options);
  if (error || !tools.is_array()) return InvalidField("chat.tools_json", "is not a JSON array");
  if (tools.get_array().size() > kMostTools) {
    return InvalidField("chat.tools_json", "{} tools, expected at most {}", tools.get_array().size(), kMostTools);
  }
  std::vector<ExprId> calls;
  size_t index = 0;
  for (const json::value& tool : tools.get_array()) {
    const std::string place = fmt::format("chat.tools_json[{}].function", index++);
    const json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    const json::value* name =
        function != nullptr && function->is_object() ? function->get_object().if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string()) return InvalidField(place, "has no name");
    if (!demand.name.empty() && View(name->get_string()) != demand.name) continue;
    const json::value* parameters = function->get_object().if_contains("parameters");
    if (parameters != nullptr && !parameters->is_object()) parameters = nullptr;
    ASSIGN_OR_RETURN(const ExprId call, Call({.name = std::string(View(name->get_string())),
                                              .parameters = parameters != nullptr ? &parameters->get_object() : nullptr,
                                              .place = place + ".parameters",
                                              .strict = IsStrict(function->get_object())}));
    calls.push_back(call);
  }
  if (calls.empty()) {
    return InvalidField("chat.tool_choice_json", "there is no tool {}", demand.name.empty() ? "at all" : demand.name);
  }
  return grammar_.Named("call", grammar_.Choice(std::move(calls)));
}

// The arguments as JSON.
absl::StatusOr<ExprId> AnswerGrammar::Arguments(const Tool& tool) {
  if (tool.parameters == nullptr || tool.parameters->empty()) return json_.List("{", grammar_.Empty(), 0, 0, "}");
  ASSIGN_OR_RETURN(const Object schema, MergeSchemas(*tool.parameters, {{"type", "object"}}, "#"));
  ASSIGN_OR_RETURN(const ExprId expr, Schema(json::value(schema), tool.place, grammar_));
  return grammar_.Named("arguments", expr);
}

absl::StatusOr<ExprId> AnswerGrammar::Schema(const json::value& schema, const std::string& place, Grammar& grammar) {
  std::vector<SchemaWarning> warnings;
  const absl::StatusOr<ExprId> expr = ReadJsonSchema(schema, grammar, {.warnings = &warnings});
  AddWarnings(place, warnings, warnings_);
  if (!expr.ok()) return AtField(place, expr.status());
  return expr;
}

absl::StatusOr<ExprId> AnswerGrammar::Call(const Tool& tool) {
  if (format_.channels) {
    ASSIGN_OR_RETURN(const ExprId arguments, Arguments(tool));
    return grammar_.Sequence({Mark("<|channel|>"), grammar_.Literal("commentary to=functions." + tool.name + " "),
                              grammar_.Optional(grammar_.Sequence({Mark("<|constrain|>"), grammar_.Literal("json")})),
                              Mark("<|message|>"), arguments});
  }
  switch (format_.calls->body) {
    case output::CallBody::kJson:
    case output::CallBody::kKeyedJson:
      return JsonCall(tool);
    case output::CallBody::kNamedJson:
      return NamedCall(tool);
    case output::CallBody::kParameters:
      return ParametersByThemselves(tool);
    case output::CallBody::kPython:
      return PythonCall(tool);
    case output::CallBody::kGemma:
      return GemmaCall(tool);
  }
  return grammar_.Nothing();
}

absl::StatusOr<ExprId> AnswerGrammar::JsonCall(const Tool& tool) {
  const output::CallSyntax& syntax = *format_.calls;
  ASSIGN_OR_RETURN(const ExprId arguments, Arguments(tool));
  const auto key = [&](std::string_view text) { return grammar_.Literal(fmt::format("\"{}\"", text)); };
  std::vector<ExprId> parts = {grammar_.Byte('{'), json_.Space()};
  if (syntax.body == output::CallBody::kKeyedJson) {
    parts.push_back(json_.Member(json_.Literal(json::value(tool.name)), arguments));
  } else {
    if (!syntax.id_key.empty()) {
      const ExprId id = grammar_.Sequence(
          {grammar_.Byte('"'), grammar_.Repeat(grammar_.Bytes(Digits()), 1, kMostIdDigits), grammar_.Byte('"')});
      parts.insert(parts.end(), {json_.Member(key(syntax.id_key), id), json_.Comma()});
    }
    const ExprId name = json_.Member(key(syntax.name_key), json_.Literal(json::value(tool.name)));
    parts.insert(parts.end(), {name, json_.Comma(), json_.Member(key(syntax.arguments_key), arguments)});
  }
  parts.insert(parts.end(), {json_.Space(), grammar_.Byte('}')});
  return grammar_.Sequence(std::move(parts));
}

absl::StatusOr<ExprId> AnswerGrammar::NamedCall(const Tool& tool) {
  const output::CallSyntax& syntax = *format_.calls;
  ASSIGN_OR_RETURN(const ExprId arguments, Arguments(tool));
  const ExprId name_end = Mark(syntax.name_end);
  if (syntax.name == "kimi") {
    return grammar_.Sequence({grammar_.Literal("functions." + tool.name + ":"),
                              grammar_.Repeat(grammar_.Bytes(Digits()), 1, kMostIdDigits), name_end, arguments});
  }
  if (!syntax.id_end.empty()) {
    ByteSet letters = Digits();
    for (unsigned char letter = 'a'; letter <= 'z'; ++letter) letters.set(letter);
    return grammar_.Sequence({grammar_.Repeat(grammar_.Bytes(letters), kIdLetters, kIdLetters), Mark(syntax.id_end),
                              grammar_.Literal(tool.name), name_end, arguments});
  }
  const ExprId plain = grammar_.Sequence({grammar_.Literal(tool.name), name_end, arguments});
  if (syntax.name != "deepseek") return plain;
  const ExprId block =
      grammar_.Sequence({grammar_.Literal("function"), name_end, grammar_.Literal(tool.name + "\n```json\n"), arguments,
                         grammar_.Literal("\n```")});
  return grammar_.Choice({plain, block});
}

// The marks of one call, and of several.
ExprId AnswerGrammar::Around(ExprId call, bool parallel) {
  if (format_.channels) {
    if (!parallel) return call;
    const ExprId between = grammar_.Sequence({Mark("<|end|>"), Mark("<|start|>"), grammar_.Literal("assistant")});
    return grammar_.Sequence({call, grammar_.Star(grammar_.Sequence({between, call}))});
  }
  if (format_.calls->writes_bare) return BareCalls(call, parallel);
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
  if (syntax.writes_bare) return open(opened, syntax.open, call);
  const ExprId line = grammar_.Optional(grammar_.Byte('\n'));
  if (syntax.several == output::Several::kList) {
    const ExprId list = grammar_.Sequence(
        {grammar_.Byte('['), json_.Space(), more(call, json_.Comma(), call), json_.Space(), grammar_.Byte(']')});
    const ExprId blank = grammar_.Optional(grammar_.Byte(' '));
    return open(opened, syntax.open, grammar_.Sequence({blank, list, Mark(syntax.close)}));
  }
  if (syntax.several == output::Several::kLines) {
    const ExprId calls = grammar_.Sequence({line, more(call, line, call), line, Mark(syntax.close)});
    return open(opened, syntax.open, calls);
  }
  ExprId body = call;
  if (syntax.body == output::CallBody::kJson) body = grammar_.Sequence({line, call, line});
  body = grammar_.Named("call body", grammar_.Sequence({body, Mark(syntax.close)}));
  const ExprId marked = open(false, syntax.open, body);
  if (syntax.list_begin.empty()) return more(open(opened, syntax.open, body), line, marked);
  return open(opened, syntax.list_begin,
              grammar_.Sequence({line, more(marked, line, marked), line, Mark(syntax.list_end)}));
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

}  // namespace inferd::constraint
