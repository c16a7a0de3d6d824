// The reader of values; strings and numbers are in schema_scalars.cc, objects in schema_object.cc, allOf in
// schema_merge.cc.
#include "engine/constraint/json_schema.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/schema_merge.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr int kDeepest = 100;
constexpr int kMostValues = 50'000;  // schemas that are read, those that are used twice counted twice

constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};

// Keywords, and the type that one speaks of.
constexpr std::pair<std::string_view, std::string_view> kKeywords[] = {{"type", ""},
                                                                       {"enum", ""},
                                                                       {"const", ""},
                                                                       {"anyOf", ""},
                                                                       {"oneOf", ""},
                                                                       {"allOf", ""},
                                                                       {"$ref", ""},
                                                                       {"nullable", ""},
                                                                       {"properties", "object"},
                                                                       {"required", "object"},
                                                                       {"additionalProperties", "object"},
                                                                       {"patternProperties", "object"},
                                                                       {"minProperties", "object"},
                                                                       {"maxProperties", "object"},
                                                                       {"items", "array"},
                                                                       {"prefixItems", "array"},
                                                                       {"minItems", "array"},
                                                                       {"maxItems", "array"},
                                                                       {"uniqueItems", "array"},
                                                                       {"minLength", "string"},
                                                                       {"maxLength", "string"},
                                                                       {"pattern", "string"},
                                                                       {"format", "string"},
                                                                       {"minimum", "number"},
                                                                       {"maximum", "number"},
                                                                       {"exclusiveMinimum", "number"},
                                                                       {"exclusiveMaximum", "number"}};

bool HasType(const json::value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return value.is_number();
}

// The schema without one of its keywords.
json::object Without(const json::object& schema, std::string_view keyword) {
  json::object rest = schema;
  rest.erase(json::string_view(keyword.data(), keyword.size()));
  return rest;
}

bool OnlyDescribes(const json::object& schema) {
  return std::all_of(schema.begin(), schema.end(), [](const json::key_value_pair& entry) {
    return IsAnnotation({entry.key().data(), entry.key().size()});
  });
}

}  // namespace

std::string Shown(const json::value& value) {
  std::string text = json::serialize(value);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

std::string Inside(const std::string& place, std::string_view key) {
  std::string inside = place + "/";
  for (char byte : key.substr(0, 64)) {
    if (byte == '~' || byte == '/') inside += byte == '~' ? "~0" : "~1";
    if (byte != '~' && byte != '/') inside += byte;
  }
  return inside;
}

absl::StatusOr<ExprId> SchemaReader::Value(const Value_& schema, const std::string& place, int depth) {
  if (depth > kDeepest) return InvalidArgument("at {}: more than {} schemas within each other", place, kDeepest);
  if (grammar_.too_large() || ++values_ > kMostValues) {
    return InvalidArgument("at {}: the schema is too large, with all that it refers to", place);
  }
  if (schema == true) return json_.AnyValue();
  if (schema == false) return grammar_.Nothing();
  if (!schema.is_object()) return InvalidArgument("at {}: {} is not a schema", place, Shown(schema));
  const Object& object = schema.get_object();
  if (object.contains("nullable") && object.at("nullable") == true) {
    ASSIGN_OR_RETURN(const ExprId value, Value(Without(object, "nullable"), place, depth + 1));
    return grammar_.Choice({value, json_.Null()});
  }
  return ObjectSchema(object, place, depth);
}

absl::StatusOr<ExprId> SchemaReader::ObjectSchema(const Object& schema, const std::string& place, int depth) {
  RETURN_IF_ERROR(CheckKeywords(schema, place));
  if (schema.contains("$ref")) return Reference(schema, place, depth);
  if (schema.contains("allOf")) return AllOf(schema, place, depth);
  if (schema.contains("anyOf")) return AnyOf("anyOf", schema, place, depth);
  if (schema.contains("oneOf")) return AnyOf("oneOf", schema, place, depth);
  if (schema.contains("enum") || schema.contains("const")) return Values(schema, place);
  ASSIGN_OR_RETURN(const std::vector<std::string> types, TypesOf(schema, place));
  if (types.empty()) return json_.AnyValue();
  std::vector<ExprId> choices;
  for (const std::string& type : types) {
    ASSIGN_OR_RETURN(const ExprId choice, OfType(type, schema, place, depth));
    choices.push_back(choice);
  }
  return grammar_.Choice(std::move(choices));
}

absl::Status SchemaReader::CheckKeywords(const Object& schema, const std::string& place) const {
  for (const auto& [key, value] : schema) {
    const std::string_view keyword(key.data(), key.size());
    const auto is_this = [&](const auto& entry) { return entry.first == keyword; };
    if (std::any_of(std::begin(kKeywords), std::end(kKeywords), is_this) || IsAnnotation(keyword)) continue;
    return InvalidArgument("at {}: keyword {} is not supported", place, keyword.substr(0, 64));
  }
  return absl::OkStatus();
}

absl::StatusOr<const SchemaReader::Value_*> SchemaReader::Target(const Value_& reference,
                                                                 const std::string& place) const {
  if (!reference.is_string()) return InvalidArgument("at {}: $ref is not a string", place);
  const std::string_view pointer = View(reference.get_string());
  if (pointer != "#" && !pointer.starts_with("#/")) {
    return InvalidArgument("at {}: $ref {} leads out of the schema, expected #/...", place, pointer.substr(0, 64));
  }
  json::error_code error;
  const Value_* target = root_.find_pointer({pointer.data() + 1, pointer.size() - 1}, error);
  if (target == nullptr) return InvalidArgument("at {}: $ref {} leads nowhere", place, pointer.substr(0, 64));
  return target;
}

absl::StatusOr<ExprId> SchemaReader::Reference(const Object& schema, const std::string& place, int depth) {
  ASSIGN_OR_RETURN(const Value_* target, Target(schema.at("$ref"), place));
  const Object rest = Without(schema, "$ref");
  const std::string pointer(View(schema.at("$ref").get_string()));
  if (!OnlyDescribes(rest)) {
    ASSIGN_OR_RETURN(const Object resolved, Resolved(*target, place));
    ASSIGN_OR_RETURN(const Object both, MergeSchemas(resolved, rest, place));
    return Value(both, place, depth + 1);
  }
  const auto [found, is_new] = references_.try_emplace(pointer, -1);
  if (is_new) {
    const RuleId rule = found->second = grammar_.AddRule(pointer);
    grammar_.Define(rule, grammar_.Nothing());
    ASSIGN_OR_RETURN(const ExprId body, Value(*target, pointer, depth + 1));
    grammar_.Define(rule, body);
  }
  return grammar_.Call(references_.at(pointer));
}

// The schema as an object of keywords without $ref.
absl::StatusOr<SchemaReader::Object> SchemaReader::Resolved(const Value_& schema, const std::string& place) const {
  if (schema == true) return Object();
  if (schema == false) return Object{{"enum", json::array()}};
  if (!schema.is_object()) return InvalidArgument("at {}: {} is not a schema", place, Shown(schema));
  Object resolved = schema.get_object();
  for (int i = 0; resolved.contains("$ref"); ++i) {
    if (i > kDeepest) return InvalidArgument("at {}: $ref leads back to itself", place);
    ASSIGN_OR_RETURN(const Value_* target, Target(resolved.at("$ref"), place));
    const Object rest = Without(resolved, "$ref");
    if (*target == false) return Object{{"enum", json::array()}};
    if (!target->is_object() && *target != true) return InvalidArgument("at {}: $ref leads to no schema", place);
    ASSIGN_OR_RETURN(resolved, MergeSchemas(target->is_object() ? target->get_object() : Object(), rest, place));
  }
  return resolved;
}

absl::StatusOr<ExprId> SchemaReader::AllOf(const Object& schema, const std::string& place, int depth) {
  const Value_& parts = schema.at("allOf");
  if (!parts.is_array()) return InvalidArgument("at {}: allOf is not a list", place);
  Object merged = Without(schema, "allOf");
  size_t index = 0;
  for (const Value_& part : parts.get_array()) {
    const std::string inside = Inside(Inside(place, "allOf"), std::to_string(index++));
    ASSIGN_OR_RETURN(const Object resolved, Resolved(part, inside));
    ASSIGN_OR_RETURN(merged, MergeSchemas(merged, resolved, inside));
  }
  return Value(merged, place, depth + 1);
}

absl::StatusOr<ExprId> SchemaReader::AnyOf(std::string_view keyword, const Object& schema, const std::string& place,
                                           int depth) {
  const Value_& parts = schema.at({keyword.data(), keyword.size()});
  if (!parts.is_array()) return InvalidArgument("at {}: {} is not a list", place, keyword);
  const Object rest = Without(schema, keyword);
  const bool alone = OnlyDescribes(rest);
  std::vector<ExprId> choices;
  for (const Value_& part : parts.get_array()) {
    const std::string inside = Inside(Inside(place, keyword), std::to_string(choices.size()));
    Value_ merged = part;
    if (!alone) {
      ASSIGN_OR_RETURN(const Object resolved, Resolved(part, inside));
      ASSIGN_OR_RETURN(merged, MergeSchemas(rest, resolved, inside));
    }
    ASSIGN_OR_RETURN(const ExprId choice, Value(merged, inside, depth + 1));
    choices.push_back(choice);
  }
  return grammar_.Choice(std::move(choices));
}

absl::StatusOr<ExprId> SchemaReader::Values(const Object& schema, const std::string& place) {
  for (const auto& [key, value] : schema) {
    const std::string_view keyword(key.data(), key.size());
    if (keyword == "type" || keyword == "enum" || keyword == "const" || IsAnnotation(keyword)) continue;
    return InvalidArgument("at {}: {} beside enum or const is not supported", place, keyword);
  }
  const Value_* listed = schema.if_contains("enum");
  if (listed != nullptr && !listed->is_array()) return InvalidArgument("at {}: enum is not a list", place);
  const Value_* constant = schema.if_contains("const");
  ASSIGN_OR_RETURN(const std::vector<std::string> types, TypesOf(schema, place));
  std::vector<ExprId> choices;
  for (const Value_& value : listed != nullptr ? listed->get_array() : json::array{*constant}) {
    const bool typed = types.empty() || std::any_of(types.begin(), types.end(),
                                                    [&](const std::string& type) { return HasType(value, type); });
    if (typed && (constant == nullptr || *constant == value)) choices.push_back(json_.Literal(value));
  }
  return grammar_.Choice(std::move(choices));
}

absl::StatusOr<std::vector<std::string>> SchemaReader::TypesOf(const Object& schema, const std::string& place) const {
  std::vector<std::string> types;
  const Value_* type = schema.if_contains("type");
  if (type == nullptr) {
    for (const auto& [keyword, of] : kKeywords) {
      if (!of.empty() && schema.contains({keyword.data(), keyword.size()})) {
        if (std::find(types.begin(), types.end(), of) == types.end()) types.emplace_back(of);
      }
    }
    return types;
  }
  for (const Value_& one : type->is_array() ? type->get_array() : json::array{*type}) {
    const bool known =
        one.is_string() && std::find(std::begin(kTypes), std::end(kTypes), View(one.get_string())) != std::end(kTypes);
    if (!known) return InvalidArgument("at {}: type {} is not known", place, Shown(one));
    const std::string_view name = View(one.get_string());
    if (std::find(types.begin(), types.end(), name) == types.end()) types.emplace_back(name);
  }
  // No type is left of two that exclude each other.
  if (types.empty()) return InvalidArgument("at {}: no type is possible", place);
  return types;
}

absl::StatusOr<ExprId> SchemaReader::OfType(std::string_view type, const Object& schema, const std::string& place,
                                            int depth) {
  if (type == "object") return ObjectOf(schema, place, depth);
  if (type == "array") return Array(schema, place, depth);
  if (type == "string") return String(schema, place);
  if (type == "integer") return Integer(schema, place);
  if (type == "number") return Number(schema, place);
  return type == "null" ? json_.Null() : json_.Boolean();
}

absl::StatusOr<ExprId> SchemaReader::Array(const Object& schema, const std::string& place, int depth) {
  const Value_* unique = schema.if_contains("uniqueItems");
  if (unique != nullptr && *unique != false) {
    return InvalidArgument("at {}: keyword uniqueItems is not supported", place);
  }
  ASSIGN_OR_RETURN(Bounds count, BoundsOf(schema, "minItems", "maxItems", place));
  const Value_* prefix = schema.if_contains("prefixItems");
  const Value_* items = schema.if_contains("items");
  if (prefix != nullptr && !prefix->is_array()) return InvalidArgument("at {}: prefixItems is not a list", place);
  const Value_ any(true);
  std::vector<ExprId> first;
  for (const Value_& item : prefix != nullptr ? prefix->get_array() : json::array()) {
    const std::string inside = Inside(Inside(place, "prefixItems"), std::to_string(first.size()));
    ASSIGN_OR_RETURN(const ExprId expr, Value(item, inside, depth + 1));
    first.push_back(expr);
  }
  // Without a word on the others, a tuple ends with its last.
  const bool open = items == nullptr ? prefix == nullptr || count.least > first.size() : *items != false;
  if (!open) count.most = std::min<uint32_t>(count.most, static_cast<uint32_t>(first.size()));
  ASSIGN_OR_RETURN(const ExprId item, Value(items != nullptr ? *items : any, Inside(place, "items"), depth + 1));
  if (first.empty()) return json_.List("[", item, count.least, count.most, "]");
  // From the back: what may follow the i-th element.
  const auto places = static_cast<uint32_t>(first.size());
  const auto left = [](uint32_t bound, uint32_t taken) {
    return bound == kUnbounded ? bound : bound > taken ? bound - taken : 0;
  };
  ExprId rest =
      grammar_.Repeat(grammar_.Sequence({json_.Comma(), item}), left(count.least, places), left(count.most, places));
  for (uint32_t i = places; i-- > 0;) {
    if (i >= count.most) rest = grammar_.Empty();
    const ExprId one = i == 0 ? first[i] : grammar_.Sequence({json_.Comma(), first[i]});
    const ExprId more = grammar_.Sequence({one, rest});
    rest = i >= count.most ? grammar_.Empty() : i < count.least ? more : grammar_.Optional(more);
  }
  return grammar_.Sequence({grammar_.Byte('['), json_.Space(), rest, json_.Space(), grammar_.Byte(']')});
}

absl::StatusOr<ExprId> ReadJsonSchema(const json::value& schema, Grammar& grammar) {
  return SchemaReader(schema, grammar).Read();
}

absl::StatusOr<ExprId> ReadJsonSchema(std::string_view text, Grammar& grammar) {
  json::parse_options options;
  options.max_depth = kDeepest;
  json::error_code error;
  const json::value schema = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return InvalidArgument("at #: the schema is not JSON: {}", error.message());
  return ReadJsonSchema(schema, grammar);
}

}  // namespace inferd::constraint
