#include "gateway/openai/requests/constraint_fields.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string>
#include <utility>

#include "config/base/status.h"
#include "gateway/json/valid_text.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr size_t kMostBytes = 1 << 20;  // of a grammar or regular expression
constexpr size_t kMostChoices = 4096;

enum class Kind { kSchema, kRegex, kGrammar, kChoice, kObject };

// `name`: within `fields`. False: it is absent, or asks for nothing.
absl::StatusOr<bool> ReadKind(Fields& fields, std::string_view name, Kind kind, v1::Constraint& constraint) {
  switch (kind) {
    case Kind::kSchema: {
      const json::value* schema = fields.Raw(name);
      if (schema == nullptr) return false;
      if (schema->is_string()) {
        constraint.set_json_schema(schema->get_string().data(), schema->get_string().size());
      } else if (schema->is_object() || schema->is_bool()) {
        constraint.set_json_schema(json::serialize(*schema));
      } else {
        return InvalidField(fields.PathOf(name), "{} is not a JSON schema, expected an object", Shown(*schema));
      }
      return true;
    }
    case Kind::kRegex:
    case Kind::kGrammar: {
      ASSIGN_OR_RETURN(std::optional<std::string> text, fields.String(name, kMostBytes));
      if (!text || text->empty()) return false;
      if (kind == Kind::kRegex) constraint.set_regex(*std::move(text));
      if (kind == Kind::kGrammar) constraint.set_grammar(*std::move(text));
      return true;
    }
    case Kind::kChoice: {
      ASSIGN_OR_RETURN(const std::vector<std::string> texts, fields.Strings(name, kMostChoices, kMostBytes));
      if (texts.empty()) return false;
      constraint.mutable_choice()->mutable_texts()->Add(texts.begin(), texts.end());
      return true;
    }
    case Kind::kObject: {
      ASSIGN_OR_RETURN(const std::optional<bool> wanted, fields.Boolean(name));
      if (wanted.value_or(false)) constraint.set_json_object(true);
      return wanted.value_or(false);
    }
  }
  return false;
}

absl::StatusOr<std::string_view> ReadNamedSchema(Fields& format, v1::Constraint& constraint) {
  ASSIGN_OR_RETURN(auto named, format.Object("json_schema"));
  if (!named) {  // some write it as for json_object
    ASSIGN_OR_RETURN(const bool bound, ReadKind(format, "schema", Kind::kSchema, constraint));
    if (bound) return "response_format.schema";
    return InvalidField("response_format.json_schema", "is missing");
  }
  Fields fields = format.Within(*std::move(named), "response_format.json_schema");
  fields.Ignore("description");
  ASSIGN_OR_RETURN([[maybe_unused]] auto name, fields.String("name", 256));
  ASSIGN_OR_RETURN([[maybe_unused]] auto strict, fields.Boolean("strict"));
  const json::value* schema = fields.Raw("schema");
  if (schema == nullptr || !(schema->is_object() || schema->is_bool())) {
    return InvalidField("response_format.json_schema.schema", "is missing or no JSON schema");
  }
  constraint.set_json_schema(json::serialize(*schema));
  return "response_format.json_schema";
}

absl::StatusOr<std::string_view> ReadResponseFormat(Fields& fields, v1::Constraint& constraint) {
  ASSIGN_OR_RETURN(auto format, fields.Object("response_format"));
  if (!format) return "";
  Fields inner = fields.Within(*std::move(format), "response_format");
  ASSIGN_OR_RETURN(auto type, inner.String("type", 64));
  if (!type) return InvalidField("response_format.type", "is missing");
  if (*type == "text") return "";
  if (*type == "json_object") {
    ASSIGN_OR_RETURN(const bool bound, ReadKind(inner, "schema", Kind::kSchema, constraint));
    if (bound) return "response_format.schema";
    constraint.set_json_object(true);
    return "response_format";
  }
  if (*type == "json_schema") return ReadNamedSchema(inner, constraint);
  return InvalidField("response_format.type", "'{}' is not text, json_object or json_schema", ValidText(*type, 64));
}

// Whatever stands in it restricts the output, so that nothing of it is passed over.
absl::StatusOr<std::string_view> ReadStructuredOutputs(Fields& fields, v1::Constraint& constraint) {
  static constexpr std::pair<std::string_view, Kind> kParts[] = {{"structured_outputs.json", Kind::kSchema},
                                                                 {"structured_outputs.regex", Kind::kRegex},
                                                                 {"structured_outputs.choice", Kind::kChoice},
                                                                 {"structured_outputs.grammar", Kind::kGrammar},
                                                                 {"structured_outputs.json_object", Kind::kObject}};
  constexpr std::string_view kPrefix = "structured_outputs.";
  ASSIGN_OR_RETURN(auto outputs, fields.Object("structured_outputs"));
  if (!outputs) return "";
  Fields inner = fields.Within(*outputs, "structured_outputs");
  std::string_view given;
  for (const auto& [name, kind] : kParts) {
    ASSIGN_OR_RETURN(const bool bound, ReadKind(inner, name.substr(kPrefix.size()), kind, constraint));
    if (!bound) continue;
    if (!given.empty()) return InvalidField(name, "only one of this and {} can be given", given);
    given = name;
  }
  inner.Ignore("disable_fallback");  // there is none
  for (const std::string& name : inner.Unknown()) {
    return InvalidField(fmt::format("structured_outputs.{}", ValidText(name, 64)), "is not supported");
  }
  return given;
}

}  // namespace

absl::StatusOr<std::string_view> ReadConstraint(Fields& fields, v1::GenerateRequest& request) {
  static constexpr std::pair<std::string_view, Kind> kFields[] = {
      {"grammar", Kind::kGrammar},    {"json_schema", Kind::kSchema},   {"guided_json", Kind::kSchema},
      {"guided_regex", Kind::kRegex}, {"guided_choice", Kind::kChoice}, {"guided_grammar", Kind::kGrammar},
      {"regex", Kind::kRegex},        {"ebnf", Kind::kGrammar},         {"guided_json_object", Kind::kObject}};
  v1::Constraint constraint;
  ASSIGN_OR_RETURN(std::string_view given, ReadResponseFormat(fields, constraint));
  const auto take = [&given](std::string_view name) {
    if (!given.empty()) return InvalidField(name, "only one of this and {} can be given", given);
    given = name;
    return absl::OkStatus();
  };
  v1::Constraint other;
  ASSIGN_OR_RETURN(const std::string_view structured, ReadStructuredOutputs(fields, other));
  if (!structured.empty()) {
    RETURN_IF_ERROR(take(structured));
    constraint = std::move(other);
  }
  for (const auto& [name, kind] : kFields) {
    other.Clear();
    ASSIGN_OR_RETURN(const bool bound, ReadKind(fields, name, kind, other));
    if (!bound) continue;
    RETURN_IF_ERROR(take(name));
    constraint = std::move(other);
  }
  if (!given.empty()) *request.mutable_constraint() = std::move(constraint);
  return given;
}

}  // namespace inferd::gateway
