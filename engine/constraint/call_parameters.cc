// Calls that write each parameter by itself between marks: a string as it is, other values as JSON.
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

ExprId AnyTextWithout(std::string_view mark, Grammar& grammar) {
  Grammar scratch;
  scratch.set_root(scratch.AddRule("value"));
  scratch.Define(scratch.root(), JsonGrammar(scratch).AnyString());
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(scratch);
  CHECK(program.ok());
  return RawText(*std::move(program), mark, grammar).value_or(grammar.Nothing());
}

}  // namespace

absl::StatusOr<ExprId> AnswerGrammar::ParametersByThemselves(const Tool& tool) {
  const output::CallSyntax& syntax = *format_.calls;
  const bool functions = syntax.body == output::CallBody::kFunctions;
  const ExprId line = grammar_.Optional(grammar_.Byte('\n'));
  const json::object none;
  const json::object& parameters = tool.parameters != nullptr ? *tool.parameters : none;
  if (const std::string keyword = KeywordBeyondParameters(parameters); !keyword.empty()) {
    return InvalidArgument("{}: at #: keyword {} is not supported in this model's form of calls", tool.place, keyword);
  }
  std::vector<ExprId> parts;
  if (functions) {
    parts = {line, grammar_.Literal("<function=" + tool.name + ">\n")};
  } else {
    parts = {grammar_.Literal(tool.name), line};
  }
  for (const auto& [key, schema] : PropertiesOf(parameters)) {
    const std::string name(key.data(), key.size());
    if (name.find_first_of("<>\n") != name.npos) {
      return InvalidArgument("{}.properties: {} has a character that this model's form of calls cannot write",
                             tool.place, name);
    }
    ASSIGN_OR_RETURN(const ExprId value, PlainValue(schema, tool, name, functions ? "</parameter>" : "</arg_value>"));
    std::vector<ExprId> part;
    if (functions) {
      const char* own_line = syntax.own_lines ? "\n" : "";
      part = {grammar_.Literal(fmt::format("<parameter={}>{}", name, own_line)), value,
              grammar_.Literal(fmt::format("{}</parameter>\n", own_line))};
    } else {
      part = {Mark("<arg_key>"),    grammar_.Literal(name),
              Mark("</arg_key>"),   line,
              Mark("<arg_value>"),  value,
              Mark("</arg_value>"), line};
    }
    const ExprId written = grammar_.Sequence(std::move(part));
    parts.push_back(IsRequired(parameters, json::value(key)) ? written : grammar_.Optional(written));
  }
  if (functions) parts.insert(parts.end(), {grammar_.Literal("</function>"), line});
  return grammar_.Sequence(std::move(parts));
}

absl::StatusOr<ExprId> AnswerGrammar::PlainValue(const json::value& schema, const Tool& tool, std::string_view key,
                                                 std::string_view mark) {
  const std::string place = fmt::format("{}.properties.{}", tool.place, key);
  const json::value whole = WithDefinitions(schema, *tool.parameters);
  const output::JsonTypes types = output::TypesOfSchema(schema, *tool.parameters);
  if ((types | output::kJsonNull) != (output::kJsonString | output::kJsonNull)) {
    return Schema(whole, place, grammar_);
  }
  Grammar scratch;
  ASSIGN_OR_RETURN(const ExprId value, Schema(whole, place, scratch));
  scratch.set_root(scratch.AddRule("value"));
  scratch.Define(scratch.root(), value);
  absl::StatusOr<std::shared_ptr<const Program>> program = Program::Create(scratch);
  if (!program.ok()) return Annotate(program.status(), place);
  if (const std::optional<ExprId> text = RawText(*std::move(program), mark, grammar_)) return *text;
  // Too many states. Of strings that only their length bounds, those without the mark's first byte remain.
  if (const std::optional<LengthBounds> length = OnlyLengthOf(schema)) {
    const auto first = static_cast<unsigned char>(mark[0]);
    return grammar_.Repeat(grammar_.Chars(CharSet::Any().Minus({{first, first}})), length->least, length->most);
  }
  if (tool.strict) {
    return InvalidArgument("{}: at #: the strings are too many to be told apart in this model's form of calls", place);
  }
  return AnyTextWithout(mark, grammar_);
}

}  // namespace inferd::constraint
