#include "engine/output/schema_types.h"

#include <boost/json/array.hpp>
#include <string_view>
#include <utility>

namespace inferd::output {
namespace {

namespace json = boost::json;

constexpr int kDeepest = 16;

JsonTypes NamedType(const json::value& name) {
  constexpr std::pair<std::string_view, JsonTypes> kNames[] = {
      {"string", kJsonString}, {"number", kJsonNumber},   {"integer", kJsonNumber}, {"object", kJsonObject},
      {"array", kJsonArray},   {"boolean", kJsonBoolean}, {"null", kJsonNull}};
  if (!name.is_string()) return kAnyJson;
  for (const auto& [known, types] : kNames) {
    if (std::string_view(name.get_string()) == known) return types;
  }
  return kAnyJson;
}

class TypeReader {
 public:
  explicit TypeReader(const json::object& root) : root_(root) {}

  JsonTypes Read(const json::value& schema, int depth) const {
    if (schema == false) return 0;
    if (!schema.is_object() || depth > kDeepest) return kAnyJson;
    const json::object& object = schema.get_object();
    JsonTypes types = kAnyJson;
    if (const json::value* type = object.if_contains("type")) {
      types &= type->is_array() ? Any(type->get_array(), NamedType) : NamedType(*type);
    }
    if (const json::value* values = object.if_contains("enum"); values != nullptr && values->is_array()) {
      types &= Any(values->get_array(), TypeOfValue);
    }
    if (const json::value* value = object.if_contains("const")) types &= TypeOfValue(*value);
    if (const json::value* reference = object.if_contains("$ref")) types &= Referred(*reference, depth);
    const auto part = [&](const json::value& inside) { return Read(inside, depth + 1); };
    for (const char* keyword : {"anyOf", "oneOf"}) {
      const json::value* parts = object.if_contains(keyword);
      if (parts != nullptr && parts->is_array()) types &= Any(parts->get_array(), part);
    }
    if (const json::value* parts = object.if_contains("allOf"); parts != nullptr && parts->is_array()) {
      for (const json::value& inside : parts->get_array()) types &= part(inside);
    }
    const json::value* nullable = object.if_contains("nullable");
    if (nullable != nullptr && *nullable == true) types |= kJsonNull;
    return types;
  }

 private:
  template <typename TypesOf>
  static JsonTypes Any(const json::array& parts, TypesOf types_of) {
    JsonTypes types = 0;
    for (const json::value& part : parts) types |= types_of(part);
    return types;
  }

  JsonTypes Referred(const json::value& reference, int depth) const {
    if (!reference.is_string()) return kAnyJson;
    const std::string_view pointer = reference.get_string();
    if (!pointer.starts_with("#/")) return kAnyJson;
    const json::value* at = nullptr;
    const json::object* inside = &root_;
    for (std::string_view rest = pointer.substr(2);;) {
      const size_t end = std::min(rest.find('/'), rest.size());
      at = inside->if_contains({rest.data(), end});
      if (at == nullptr) return kAnyJson;
      if (end == rest.size()) return Read(*at, depth + 1);
      inside = at->if_object();
      if (inside == nullptr) return kAnyJson;
      rest.remove_prefix(end + 1);
    }
  }

  const json::object& root_;
};

}  // namespace

JsonTypes TypeOfValue(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return kJsonString;
    case json::kind::object:
      return kJsonObject;
    case json::kind::array:
      return kJsonArray;
    case json::kind::bool_:
      return kJsonBoolean;
    case json::kind::null:
      return kJsonNull;
    default:
      return kJsonNumber;
  }
}

JsonTypes TypesOfSchema(const json::value& schema, const json::object& root) {
  return TypeReader(root).Read(schema, 0);
}

}  // namespace inferd::output
