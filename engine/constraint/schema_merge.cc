#include "engine/constraint/schema_merge.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <set>

#include "config/base/status.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr std::string_view kAnnotations[] = {"title",     "description", "default",     "examples",      "example",
                                             "$schema",   "$id",         "$comment",    "deprecated",    "readOnly",
                                             "writeOnly", "$defs",       "definitions", "discriminator", "$anchor"};

constexpr size_t kMostTypes = 7;

json::value Both(const json::value& a, const json::value& b) {
  if (a == b) return a;
  return json::object{{"allOf", json::array{a, b}}};
}

json::array AsList(const json::value& value) { return value.is_array() ? value.get_array() : json::array{value}; }

bool Contains(const json::array& list, const json::value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Types that both allow; a number may be an integer.
json::value CommonTypes(const json::value& a, const json::value& b) {
  json::array types;
  const auto add = [&](const json::value& type, const json::array& others) {
    const bool common = Contains(others, type) || (type == "integer" && Contains(others, "number"));
    if (common && !Contains(types, type)) types.push_back(type);
  };
  const json::array left = AsList(a), right = AsList(b);
  if (left.size() > kMostTypes || right.size() > kMostTypes) return types;
  for (const json::value& type : left) add(type, right);
  for (const json::value& type : right) add(type, left);
  return types;
}

// Texts of the values, so that long lists are compared in no more than their own time.
std::set<std::string> TextsOf(const json::array& list) {
  std::set<std::string> texts;
  for (const json::value& value : list) texts.insert(json::serialize(value));
  return texts;
}

json::value CommonValues(const json::value& a, const json::value& b) {
  json::array values;
  const std::set<std::string> others = TextsOf(AsList(b));
  for (const json::value& value : AsList(a)) {
    if (others.contains(json::serialize(value))) values.push_back(value);
  }
  return values;
}

json::value AllOf(const json::value& a, const json::value& b) {
  json::array all = AsList(a);
  const std::set<std::string> known = TextsOf(all);
  for (const json::value& value : AsList(b)) {
    if (!known.contains(json::serialize(value))) all.push_back(value);
  }
  return all;
}

bool Greater(const json::value& a, const json::value& b) {
  json::error_code error;
  return a.to_number<double>(error) > b.to_number<double>(error);
}

// The properties of `from`, as they are in an object that must satisfy `with`, too.
json::object PropertiesWithin(const json::object& from, const json::object& with) {
  const json::value* properties = from.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return {};
  const json::value* others = with.if_contains("properties");
  const json::value* additional = with.if_contains("additionalProperties");
  json::object result;
  for (const auto& [name, schema] : properties->get_object()) {
    const json::value* other =
        others != nullptr && others->is_object() ? others->get_object().if_contains(name) : nullptr;
    if (other == nullptr) other = additional;
    result[name] = other == nullptr ? schema : Both(schema, *other);
  }
  return result;
}

void MergeProperties(const json::object& a, const json::object& b, json::object& both) {
  json::object properties = PropertiesWithin(a, b);
  for (auto& [name, schema] : PropertiesWithin(b, a)) {
    if (!properties.contains(name)) properties[name] = schema;
  }
  if (!properties.empty()) both["properties"] = std::move(properties);
}

absl::StatusOr<json::value> MergeKeyword(std::string_view keyword, const json::value& a, const json::value& b,
                                         const std::string& place) {
  if (a == b) return a;
  if (keyword == "type") return CommonTypes(a, b);
  if (keyword == "enum") return CommonValues(a, b);
  if (keyword == "required") return AllOf(a, b);
  if (keyword == "items" || keyword == "additionalProperties") return Both(a, b);
  if (keyword == "nullable") return json::value(a == true && b == true);
  if (keyword == "allOf") return AllOf(a, b);
  if (keyword.starts_with("min") || keyword == "exclusiveMinimum") return Greater(a, b) ? a : b;
  if (keyword.starts_with("max") || keyword == "exclusiveMaximum") return Greater(a, b) ? b : a;
  return InvalidArgument("at {}: {} is there twice for one value, which is not supported", place, keyword);
}

}  // namespace

bool IsAnnotation(std::string_view keyword) {
  return keyword.starts_with("x-") ||
         std::find(std::begin(kAnnotations), std::end(kAnnotations), keyword) != std::end(kAnnotations);
}

absl::StatusOr<json::object> MergeSchemas(const json::object& a, const json::object& b, const std::string& place) {
  json::object both = a;
  for (const auto& [key, value] : b) {
    const json::value* other = a.if_contains(key);
    const std::string_view keyword(key.data(), key.size());
    if (other == nullptr) {
      both[key] = value;
    } else if (!IsAnnotation(keyword) && keyword != "properties") {
      ASSIGN_OR_RETURN(both[key], MergeKeyword(keyword, *other, value, place));
    }
  }
  MergeProperties(a, b, both);
  return both;
}

}  // namespace inferd::constraint
