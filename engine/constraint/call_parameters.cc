// Calls that write each parameter by itself: a string as it is, or in the quotes of the form, other values as JSON.
#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/answer_grammar.h"
#include "engine/constraint/bindable_tools.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/raw_text.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/output/schema_types.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr std::string_view kNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

bool IsRequired(const json::object& parameters, const json::value& key) {
  const json::value* required = parameters.if_contains("required");
  return required != nullptr && required->is_array() &&
         std::find(required->get_array().begin(), required->get_array().end(), key) != required->get_array().end();
}

// The properties, and what is required beyond them.
json::object PropertiesOf(const json::object& parameters) {
  const json::value* listed = parameters.if_contains("properties");
  json::object properties = listed != nullptr && listed->is_object() ? listed->get_object() : json::object();
  const json::value* required = parameters.if_contains("required");
  if (required == nullptr || !required->is_array()) return properties;
  const json::value* others = parameters.if_contains("additionalProperties");
  for (const json::value& key : required->get_array()) {
    if (key.is_string() && !properties.contains(key.get_string())) {
      properties[key.get_string()] = others != nullptr ? *others : json::value(true);
    }
  }
  return properties;
}

struct LengthBounds {
  uint32_t least = 0, most = kUnbounded;
};

// Of a schema of strings that says nothing else of them.
std::optional<LengthBounds> OnlyLengthOf(const json::value& schema) {
  if (!schema.is_object()) return std::nullopt;
  LengthBounds bounds;
  for (const auto& [key, value] : schema.get_object()) {
    const std::string_view keyword(key.data(), key.size());
    if (IsAnnotation(keyword) || (keyword == "type" && value == "string")) continue;
    if (keyword != "minLength" && keyword != "maxLength") return std::nullopt;
    json::error_code error;
    const double count = value.is_number() ? value.to_number<double>(error) : -1;
    if (error || count < 0 || count >= kUnbounded) return std::nullopt;
    (keyword == "minLength" ? bounds.least : bounds.most) = static_cast<uint32_t>(count);
  }
  return bounds;
}

const json::object& ParametersOf(const json::object* parameters) {
  static const json::object kNone;
  return parameters != nullptr ? *parameters : kNone;
}

absl::Status CheckParameters(const json::object* parameters, const std::string& place) {
  const std::string keyword = KeywordBeyondParameters(ParametersOf(parameters));
  if (keyword.empty()) return absl::OkStatus();
  return InvalidField(place, "at #: keyword {} is not supported in this model's form of calls", keyword);
}

ExprId AnyTextWithout(std::string_view mark, Grammar& grammar) {
  Grammar scratch;
  scratch.set_root(scratch.AddRule("value"));
  scratch.Define(scratch.root(), JsonGrammar(scratch).AnyString());
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(scratch);
  CHECK(program.ok());
  return RawText(*std::move(program), mark, grammar).value_or(grammar.Nothing());
}

}  // namespace

bool AnswerGrammar::IsPlainText(const json::value& schema, const json::object& root) const {
  const output::CallSyntax& syntax = *format_.calls;
  const bool null_is_text = syntax.body == output::CallBody::kParameters && syntax.parameters.string_mark.empty();
  const output::JsonTypes types = output::TypesOfSchema(schema, root);
  return (null_is_text ? types | output::kJsonNull : types) ==
         (null_is_text ? output::kJsonString | output::kJsonNull : output::kJsonString);
}

absl::StatusOr<ExprId> AnswerGrammar::ParametersByThemselves(const Tool& tool) {
  const output::ParameterMarks& marks = format_.calls->parameters;
  const bool functions = !marks.function_open.empty();
  const ExprId line = grammar_.Optional(grammar_.Byte('\n'));
  RETURN_IF_ERROR(CheckParameters(tool.parameters, tool.place));
  const json::object& parameters = ParametersOf(tool.parameters);
  std::vector<ExprId> parts;
  if (functions) {
    parts = {line, Mark(marks.function_open), grammar_.Literal(tool.name), Mark(marks.name_end), grammar_.Byte('\n')};
  } else {
    parts = {grammar_.Literal(tool.name), Mark(marks.name_end), line};
  }
  for (const auto& [key, schema] : PropertiesOf(parameters)) {
    const std::string name(key.data(), key.size());
    if (name.find_first_of("<>\n\"") != name.npos) {
      return InvalidField(fmt::format("{}.properties", tool.place),
                          "{} has a character that this model's form of calls cannot write", name);
    }
    ASSIGN_OR_RETURN(const ExprId value, PlainValue(schema, tool, name, marks.value_close));
    const std::string_view type = IsPlainText(schema, parameters) ? marks.string_mark : marks.json_mark;
    const ExprId own_line = marks.own_lines ? grammar_.Byte('\n') : grammar_.Empty();
    const ExprId written =
        grammar_.Sequence({Mark(marks.key_open), grammar_.Literal(name), Mark(marks.key_close),
                           functions ? grammar_.Literal(type) : line, Mark(marks.value_open), own_line, value, own_line,
                           Mark(marks.value_close), functions ? grammar_.Byte('\n') : line});
    parts.push_back(IsRequired(parameters, json::value(key)) ? written : grammar_.Optional(written));
  }
  if (functions) parts.insert(parts.end(), {Mark(marks.function_close), line});
  return grammar_.Sequence(std::move(parts));
}

// Values are JSON, which Python reads but for three constants; the answer parser knows both.
absl::StatusOr<ExprId> AnswerGrammar::PythonCall(const Tool& tool) {
  ASSIGN_OR_RETURN(
      const ExprId arguments,
      WithCommas(tool, ", ", [&](const std::string& name, const json::value& schema) -> absl::StatusOr<ExprId> {
        ASSIGN_OR_RETURN(const ExprId value, Schema(WithDefinitions(schema, *tool.parameters),
                                                    fmt::format("{}.properties.{}", tool.place, name), grammar_));
        return grammar_.Sequence({grammar_.Literal(name + "="), value});
      }));
  return grammar_.Sequence({grammar_.Literal(tool.name + "("), arguments, grammar_.Byte(')')});
}

absl::StatusOr<ExprId> AnswerGrammar::GemmaCall(const Tool& tool) {
  const ExprId quote = Mark(output::kGemmaQuote);
  ASSIGN_OR_RETURN(
      const ExprId arguments,
      WithCommas(tool, ",", [&](const std::string& name, const json::value& schema) -> absl::StatusOr<ExprId> {
        ASSIGN_OR_RETURN(ExprId value, PlainValue(schema, tool, name, output::kGemmaQuote));
        if (IsPlainText(schema, *tool.parameters)) value = grammar_.Sequence({quote, value, quote});
        return grammar_.Sequence({grammar_.Literal(name + ":"), value});
      }));
  return grammar_.Sequence({grammar_.Literal("call:" + tool.name + "{"), arguments, grammar_.Byte('}')});
}

// Two expressions for what follows a property, built from the last one on: after a property, and where none came yet.
absl::StatusOr<ExprId> AnswerGrammar::WithCommas(const Tool& tool, std::string_view comma, const Written& written) {
  RETURN_IF_ERROR(CheckParameters(tool.parameters, tool.place));
  const json::object& parameters = ParametersOf(tool.parameters);
  const json::object properties = PropertiesOf(parameters);
  std::vector<std::pair<ExprId, bool>> parts;  // and whether it must be there
  for (const auto& [key, schema] : properties) {
    const std::string name(key.data(), key.size());
    if (name.find_first_not_of(kNameBytes) != name.npos) {
      return InvalidField(fmt::format("{}.properties", tool.place),
                          "{} has a character that this model's form of calls cannot write", name);
    }
    ASSIGN_OR_RETURN(const ExprId one, written(name, schema));
    parts.emplace_back(grammar_.Named("parameter", one), IsRequired(parameters, json::value(key)));
  }
  ExprId after = grammar_.Empty(), first = grammar_.Empty();
  for (; !parts.empty(); parts.pop_back()) {
    const auto [one, required] = parts.back();
    const ExprId here = grammar_.Sequence({one, after}),
                 next = grammar_.Sequence({grammar_.Literal(comma), one, after});
    after = grammar_.Named("parameters", required ? next : grammar_.Choice({next, after}));
    first = grammar_.Named("parameters", required ? here : grammar_.Choice({here, first}));
  }
  return first;
}

absl::StatusOr<ExprId> AnswerGrammar::PlainValue(const json::value& schema, const Tool& tool, std::string_view key,
                                                 std::string_view mark) {
  const std::string place = fmt::format("{}.properties.{}", tool.place, key);
  const json::value whole = WithDefinitions(schema, *tool.parameters);
  if (!IsPlainText(schema, *tool.parameters)) return Schema(whole, place, grammar_);
  Grammar scratch;
  ASSIGN_OR_RETURN(const ExprId value, Schema(whole, place, scratch));
  scratch.set_root(scratch.AddRule("value"));
  scratch.Define(scratch.root(), value);
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(scratch);
  if (!program.ok()) return AtField(place, program.status());
  if (const std::optional<ExprId> text = RawText(*std::move(program), mark, grammar_)) return *text;
  // Too many states. Of strings that only their length bounds, those without the mark's first byte remain.
  if (const std::optional<LengthBounds> length = OnlyLengthOf(schema)) {
    const auto first = static_cast<unsigned char>(mark[0]);
    return grammar_.Repeat(grammar_.Chars(CharSet::Any().Minus({{first, first}})), length->least, length->most);
  }
  if (tool.strict) {
    return InvalidField(place, "at #: the strings are too many to be told apart in this model's form of calls");
  }
  return AnyTextWithout(mark, grammar_);
}

}  // namespace inferd::constraint
