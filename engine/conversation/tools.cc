#include "engine/conversation/tools.h"

#include <string_view>
#include <utility>

#include "engine/conversation/content.h"

namespace inferd::conversation {
namespace {

namespace json = boost::json;

constexpr int kDeepest = 32;  // deeper schemas stay as they are

std::string_view TypeOfValue(const json::value& value) {
  if (value.is_bool()) return "boolean";
  if (value.is_int64() || value.is_uint64()) return "integer";
  if (value.is_double()) return "number";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return value.is_null() ? "null" : "string";
}

std::string_view TypeOf(const json::object& schema, int depth);

// The first that is not null.
std::string_view TypeOfAny(const json::array& choices, int depth) {
  for (const json::value& choice : choices) {
    if (!choice.is_object()) continue;
    const std::string_view type = TypeOf(choice.get_object(), depth + 1);
    if (type != "null") return type;
  }
  return "null";
}

std::string_view TypeOf(const json::object& schema, int depth) {
  if (depth > kDeepest) return "string";
  if (const json::value* type = schema.if_contains("type")) {
    if (type->is_string()) return StringAt(schema, "type");
    if (type->is_array()) {
      for (const json::value& one : type->get_array()) {
        if (one.is_string() && one != "null") return {one.get_string().data(), one.get_string().size()};
      }
      return "null";
    }
  }
  if (const json::value* value = schema.if_contains("const")) return TypeOfValue(*value);
  if (const json::value* values = schema.if_contains("enum"); values != nullptr && values->is_array()) {
    for (const json::value& value : values->get_array()) {
      if (!value.is_null()) return TypeOfValue(value);
    }
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const json::value* choices = schema.if_contains(key);
    if (choices != nullptr && choices->is_array()) return TypeOfAny(choices->get_array(), depth);
  }
  if (schema.contains("properties") || schema.contains("$ref")) return "object";
  if (schema.contains("items")) return "array";
  return "string";
}

void CompleteText(json::object& object, const char* key) {
  json::value& text = object[key];
  if (!text.is_string()) text = "";
}

void CompleteProperty(json::value& value, int depth) {
  if (depth > kDeepest) return;
  if (value.is_bool()) value = json::object();
  if (!value.is_object()) return;
  json::object& property = value.get_object();
  property["type"] = json::string(TypeOf(property, depth));
  CompleteText(property, "description");
  if (json::value* items = property.if_contains("items")) CompleteProperty(*items, depth + 1);
  json::value* properties = property.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return;
  for (auto& [name, inner] : properties->get_object()) CompleteProperty(inner, depth + 1);
}

}  // namespace

json::array CompleteTools(json::array tools) {
  for (json::value& tool : tools) {
    json::object* function = FunctionOf(tool);
    if (function == nullptr) continue;
    CompleteText(*function, "description");
    json::value& parameters = (*function)["parameters"];
    if (!parameters.is_object()) parameters = json::object();
    json::object& schema = parameters.get_object();
    if (!schema.contains("type")) schema["type"] = "object";
    json::value& properties = schema["properties"];
    if (!properties.is_object()) properties = json::object();
    for (auto& [name, property] : properties.get_object()) CompleteProperty(property, 0);
  }
  return tools;
}

}  // namespace inferd::conversation
