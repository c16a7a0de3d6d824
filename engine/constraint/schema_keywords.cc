#include "engine/constraint/schema_keywords.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/json_grammar.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr uint32_t kMostCount = 100'000;  // of minLength and others like it
constexpr size_t kMostNames = 5000;

constexpr std::string_view kAnnotations[] = {"title",
                                             "description",
                                             "default",
                                             "examples",
                                             "example",
                                             "$schema",
                                             "$id",
                                             "id",
                                             "$comment",
                                             "deprecated",
                                             "readOnly",
                                             "writeOnly",
                                             "$defs",
                                             "definitions",
                                             "discriminator",
                                             "$anchor",
                                             "$dynamicAnchor",
                                             "$vocabulary",
                                             "contentEncoding",
                                             "contentMediaType",
                                             "contentSchema",
                                             "xml",
                                             "externalDocs",
                                             "strict",
                                             "propertyOrdering",
                                             "enumNames",
                                             "markdownDescription"};

// Keywords, and the type that one speaks of.
constexpr std::pair<std::string_view, TypeSet> kKeywords[] = {{"type", 0},
                                                              {"enum", 0},
                                                              {"const", 0},
                                                              {"anyOf", 0},
                                                              {"oneOf", 0},
                                                              {"allOf", 0},
                                                              {"not", 0},
                                                              {"if", 0},
                                                              {"then", 0},
                                                              {"else", 0},
                                                              {"$ref", 0},
                                                              {"nullable", 0},
                                                              {"properties", kObjectType},
                                                              {"required", kObjectType},
                                                              {"additionalProperties", kObjectType},
                                                              {"patternProperties", kObjectType},
                                                              {"propertyNames", kObjectType},
                                                              {"dependentRequired", kObjectType},
                                                              {"dependentSchemas", kObjectType},
                                                              {"dependencies", kObjectType},
                                                              {"minProperties", kObjectType},
                                                              {"maxProperties", kObjectType},
                                                              {"items", kArrayType},
                                                              {"prefixItems", kArrayType},
                                                              {"additionalItems", kArrayType},
                                                              {"contains", kArrayType},
                                                              {"minContains", kArrayType},
                                                              {"maxContains", kArrayType},
                                                              {"minItems", kArrayType},
                                                              {"maxItems", kArrayType},
                                                              {"uniqueItems", kArrayType},
                                                              {"minLength", kStringType},
                                                              {"maxLength", kStringType},
                                                              {"pattern", kStringType},
                                                              {"format", kStringType},
                                                              {"minimum", kNumberType},
                                                              {"maximum", kNumberType},
                                                              {"exclusiveMinimum", kNumberType},
                                                              {"exclusiveMaximum", kNumberType},
                                                              {"multipleOf", kNumberType}};

constexpr std::pair<std::string_view, TypeSet> kTypes[] = {
    {"object", kObjectType},  {"array", kArrayType},     {"string", kStringType}, {"number", kNumberType},
    {"integer", kNumberType}, {"boolean", kBooleanType}, {"null", kNullType}};

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

bool IsAnnotation(std::string_view keyword) {
  return keyword.starts_with("x-") ||
         std::find(std::begin(kAnnotations), std::end(kAnnotations), keyword) != std::end(kAnnotations);
}

bool OnlyDescribes(const json::object& schema, std::string_view but) {
  return std::all_of(schema.begin(), schema.end(), [&](const json::key_value_pair& entry) {
    const std::string_view keyword(entry.key().data(), entry.key().size());
    return keyword == but || IsAnnotation(keyword);
  });
}

absl::Status CheckKeywords(const json::object& schema, const std::string& place) {
  for (const auto& [key, value] : schema) {
    const std::string_view keyword(key.data(), key.size());
    const auto is_this = [&](const auto& entry) { return entry.first == keyword; };
    if (std::any_of(std::begin(kKeywords), std::end(kKeywords), is_this) || IsAnnotation(keyword)) continue;
    return InvalidArgument("at {}: keyword {} is not supported", place, keyword.substr(0, 64));
  }
  return absl::OkStatus();
}

TypeSet TypesSpokenOf(const json::object& schema) {
  TypeSet types = 0;
  for (const auto& [keyword, type] : kKeywords) {
    if (type != 0 && schema.contains({keyword.data(), keyword.size()})) types |= type;
  }
  return types;
}

absl::StatusOr<TypeWish> TypesOf(const json::object& schema, const std::string& place) {
  const json::value* type = schema.if_contains("type");
  if (type == nullptr) return TypeWish();
  TypeWish wish{.types = 0, .given = true};
  bool numbers = false, integers = false;
  for (const json::value& one : type->is_array() ? type->get_array() : json::array{*type}) {
    const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& entry) {
      return one.is_string() && View(one.get_string()) == entry.first;
    });
    if (known == std::end(kTypes)) return InvalidArgument("at {}: type {} is not known", place, Shown(one));
    wish.types |= known->second;
    numbers |= known->first == "number";
    integers |= known->first == "integer";
  }
  wish.only_integers = integers && !numbers;
  return wish;
}

absl::StatusOr<CountBounds> BoundsOf(const json::object& schema, const char* least, const char* most,
                                     const std::string& place) {
  CountBounds bounds;
  for (const char* keyword : {least, most}) {
    const json::value* value = schema.if_contains(keyword);
    if (value == nullptr) continue;
    const bool is_least = keyword == least;
    const bool whole = IsInteger(*value) && NumberOf(*value) >= 0;
    if (!whole || (is_least && NumberOf(*value) > kMostCount)) {
      return InvalidArgument("at {}: {} is {}, expected {}", place, keyword, Shown(*value),
                             is_least ? fmt::format("0 to {}", kMostCount) : "an integer of 0 or more");
    }
    // More than an answer holds: no more than that is generated.
    const auto number = static_cast<uint32_t>(std::min<long double>(NumberOf(*value), kMostCount));
    (is_least ? bounds.least : bounds.most) = number;
  }
  if (bounds.least > bounds.most) return InvalidArgument("at {}: {} is more than {}", place, least, most);
  return bounds;
}

absl::StatusOr<NumberLimits> LimitsOf(const json::object& schema, const std::string& place) {
  NumberLimits limits;
  for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const json::value* value = schema.if_contains(keyword);
    const bool is_least = std::string_view(keyword).ends_with("inimum");
    bool excluded = keyword[0] == 'e';
    if (value == nullptr || *value == false) continue;
    if (excluded && *value == true) {  // draft 4: it says how `minimum` is meant
      value = schema.if_contains(is_least ? "minimum" : "maximum");
      if (value == nullptr) continue;
    }
    if (!value->is_number() || !std::isfinite(NumberOf(*value))) {
      return InvalidArgument("at {}: {} is {}, expected a number", place, keyword, Shown(*value));
    }
    const long double bound = NumberOf(*value);
    std::optional<long double>& limit = is_least ? limits.least : limits.most;
    bool& limit_excluded = is_least ? limits.least_excluded : limits.most_excluded;
    if (limit && (is_least ? bound < *limit : bound > *limit)) continue;
    limit_excluded = excluded || (limit == bound && limit_excluded);
    limit = bound;
  }
  return limits;
}

absl::StatusOr<std::vector<std::string>> NamesOf(const json::value& list, const std::string& place) {
  if (!list.is_array()) return InvalidArgument("at {}: is not a list", place);
  if (list.get_array().size() > kMostNames) return InvalidArgument("at {}: more than {} names", place, kMostNames);
  std::vector<std::string> names;
  for (const json::value& name : list.get_array()) {
    if (!name.is_string()) return InvalidArgument("at {}: {} is not a name", place, Shown(name));
    names.emplace_back(View(name.get_string()));
  }
  return names;
}

absl::StatusOr<const json::array*> ListOf(const json::object& schema, std::string_view keyword,
                                          const std::string& place) {
  const json::value* list = schema.if_contains({keyword.data(), keyword.size()});
  if (list == nullptr) return nullptr;
  if (!list->is_array()) return InvalidArgument("at {}: {} is not a list", place, keyword);
  return &list->get_array();
}

absl::StatusOr<const json::object*> ObjectIn(const json::object& schema, std::string_view keyword,
                                             const std::string& place) {
  const json::value* object = schema.if_contains({keyword.data(), keyword.size()});
  if (object == nullptr) return nullptr;
  if (!object->is_object()) return InvalidArgument("at {}: {} is not an object", place, keyword);
  return &object->get_object();
}

}  // namespace inferd::constraint
