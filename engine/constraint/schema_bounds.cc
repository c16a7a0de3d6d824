#include "engine/constraint/schema_bounds.h"

#include <algorithm>
#include <unordered_set>

#include "config/base/status.h"
#include "engine/constraint/json_grammar.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

absl::StatusOr<ElementRules> ElementsOf(const json::object& schema, const std::string& place) {
  ElementRules rules;
  ASSIGN_OR_RETURN(const json::array* prefix, ListOf(schema, "prefixItems", place));
  const json::value* rest = schema.if_contains("items");
  const char *keyword = "prefixItems", *rest_keyword = "items";
  if (rest != nullptr && rest->is_array()) {  // up to draft 7
    if (prefix != nullptr) return InvalidArgument("at {}: items is a list beside prefixItems", place);
    prefix = &rest->get_array();
    keyword = "items";
    rest_keyword = "additionalItems";
    rest = schema.if_contains(rest_keyword);
  }
  if (prefix != nullptr) {
    for (Atom& atom : AtomsOf(*prefix, Inside(place, keyword))) rules.prefix.push_back({std::move(atom)});
  }
  if (rest != nullptr) rules.rest = One(*rest, Inside(place, rest_keyword));
  rules.open = rest != nullptr || prefix == nullptr;
  return rules;
}

absl::StatusOr<MemberRules> MembersOf(const json::object& schema, const std::string& place) {
  MemberRules rules{.place = place};
  ASSIGN_OR_RETURN(const json::object* properties, ObjectIn(schema, "properties", place));
  ASSIGN_OR_RETURN(const json::object* patterns, ObjectIn(schema, "patternProperties", place));
  const auto read = [&](const json::object* from, const char* keyword, auto& to) {
    if (from == nullptr) return;
    const std::string inside = Inside(place, keyword);
    for (const auto& [key, value] : *from) {
      const std::string_view name(key.data(), key.size());
      to.emplace_back(name, One(value, Inside(inside, name)));
    }
  };
  read(properties, "properties", rules.properties);
  read(patterns, "patternProperties", rules.patterns);
  if (const json::value* additional = schema.if_contains("additionalProperties")) {
    rules.additional = One(*additional, Inside(place, "additionalProperties"));
    rules.has_additional = true;
  }
  return rules;
}

absl::Status ReadNumber(const json::object& schema, const std::string& place, Shape& shape) {
  ASSIGN_OR_RETURN(shape.number.limits, LimitsOf(schema, place));
  const json::value* multiple = schema.if_contains("multipleOf");
  if (multiple == nullptr) return absl::OkStatus();
  if (!multiple->is_number() || !(NumberOf(*multiple) > 0)) {
    return InvalidArgument("at {}: multipleOf is {}, expected a number above 0", place, Shown(*multiple));
  }
  shape.number.multiples.push_back(static_cast<double>(NumberOf(*multiple)));
  return absl::OkStatus();
}

absl::Status ReadString(const json::object& schema, const std::string& place, Shape& shape) {
  ASSIGN_OR_RETURN(shape.count, BoundsOf(schema, "minLength", "maxLength", place));
  for (const char* keyword : {"pattern", "format"}) {
    const json::value* value = schema.if_contains(keyword);
    if (value == nullptr) continue;
    if (!value->is_string()) return InvalidArgument("at {}: {} is not a string", place, keyword);
    shape.terms.push_back({.kind = keyword[0] == 'p' ? TextTerm::Kind::kPattern : TextTerm::Kind::kFormat,
                           .text = std::string(View(value->get_string())),
                           .place = place});
  }
  return absl::OkStatus();
}

absl::Status ReadArray(const json::object& schema, const std::string& place, Shape& shape) {
  ASSIGN_OR_RETURN(shape.count, BoundsOf(schema, "minItems", "maxItems", place));
  if (schema.contains("items") || schema.contains("prefixItems")) {
    ASSIGN_OR_RETURN(ElementRules rules, ElementsOf(schema, place));
    shape.elements.push_back(std::make_shared<const ElementRules>(std::move(rules)));
  }
  if (const json::value* unique = schema.if_contains("uniqueItems")) {
    if (!unique->is_bool()) return InvalidArgument("at {}: uniqueItems is neither true nor false", place);
    shape.unique = unique->get_bool();
  }
  if (const json::value* contains = schema.if_contains("contains")) {
    const std::string inside = Inside(place, "contains");
    ASSIGN_OR_RETURN(CountBounds count, BoundsOf(schema, "minContains", "maxContains", place));
    if (!schema.contains("minContains")) count.least = 1;
    shape.contains.push_back({.schema = One(*contains, inside), .count = count, .place = inside});
  }
  return absl::OkStatus();
}

absl::Status ReadObject(const json::object& schema, const std::string& place, Shape& shape) {
  ASSIGN_OR_RETURN(shape.count, BoundsOf(schema, "minProperties", "maxProperties", place));
  if (schema.contains("properties") || schema.contains("patternProperties") ||
      schema.contains("additionalProperties")) {
    ASSIGN_OR_RETURN(MemberRules rules, MembersOf(schema, place));
    shape.members.push_back(std::make_shared<const MemberRules>(std::move(rules)));
  }
  if (const json::value* required = schema.if_contains("required")) {
    ASSIGN_OR_RETURN(shape.required, NamesOf(*required, Inside(place, "required")));
    std::unordered_set<std::string> seen;
    std::erase_if(shape.required, [&](const std::string& name) { return !seen.insert(name).second; });
  }
  if (const json::value* names = schema.if_contains("propertyNames")) {
    shape.names = One(*names, Inside(place, "propertyNames"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> BoundsOnType(const json::object& schema, TypeSet type, const TypeWish& wish,
                                   const std::string& place) {
  Shape shape{.types = type, .spoken = wish.given || (TypesSpokenOf(schema) & type) != 0, .place = place};
  if (type == kNumberType) {
    shape.number.integer = wish.only_integers;
    RETURN_IF_ERROR(ReadNumber(schema, place, shape));
  }
  if (type == kStringType) RETURN_IF_ERROR(ReadString(schema, place, shape));
  if (type == kArrayType) RETURN_IF_ERROR(ReadArray(schema, place, shape));
  if (type == kObjectType) RETURN_IF_ERROR(ReadObject(schema, place, shape));
  return shape;
}

Shapes AnyShapes(TypeSet types, const std::string& place) {
  Shapes shapes;
  for (TypeSet type : {kNullType, kBooleanType, kNumberType, kStringType, kArrayType, kObjectType}) {
    if ((types & type) != 0) shapes.push_back({.types = type, .place = place});
  }
  return shapes;
}

Shapes Without(const std::string& name, const std::string& place) {
  Shapes shapes = AnyShapes(kAllTypes, place);
  MemberRules rules{.place = place};
  rules.properties.emplace_back(name, Never(place));
  shapes.back().members.push_back(std::make_shared<const MemberRules>(std::move(rules)));
  return shapes;
}

Shape With(const std::vector<std::string>& names, const std::string& place) {
  return {.types = kObjectType, .required = names, .place = place};
}

Conjunction One(const json::value& schema, const std::string& place) { return {{.schema = &schema, .place = place}}; }

std::vector<Atom> AtomsOf(const json::array& parts, const std::string& place) {
  std::vector<Atom> atoms;
  for (const json::value& part : parts) {
    atoms.push_back({.schema = &part, .place = Inside(place, std::to_string(atoms.size()))});
  }
  return atoms;
}

Conjunction Never(const std::string& place) {
  static const json::value nothing(false);
  return {{.schema = &nothing, .place = place}};
}

}  // namespace inferd::constraint
