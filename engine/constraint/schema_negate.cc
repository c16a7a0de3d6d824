// What does not satisfy a schema: what breaks one of its keywords.
#include <algorithm>
#include <boost/json/array.hpp>
#include <set>

#include "config/base/status.h"
#include "engine/constraint/schema_bounds.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr uint32_t kMostCount = 100'000;  // as many as BoundsOf() reads
constexpr size_t kMostNumbers = 64;       // each splits the numbers

Shape Of(TypeSet type, const std::string& place) { return {.types = type, .spoken = true, .place = place}; }

Conjunction Negated(const Conjunction& all) {
  Conjunction negated = all;
  for (Atom& atom : negated) atom.negated = !atom.negated;
  return negated;
}

absl::Status NotSupported(const std::string& place, std::string_view keyword) {
  return InvalidArgument("at {}: {} is not supported where the schema must not hold (in not, if, oneOf)", place,
                         keyword);
}

void NegateCount(const Shape& shape, Shapes& shapes) {
  if (shape.count.least > 0) {
    shapes.push_back(Of(shape.types, shape.place));
    shapes.back().count.most = shape.count.least - 1;
  }
  if (shape.count.most < kMostCount) {  // more is never generated
    shapes.push_back(Of(shape.types, shape.place));
    shapes.back().count.least = shape.count.most + 1;
  }
}

absl::Status NegateNumber(const Shape& shape, Shapes& shapes) {
  const NumberLimits& limits = shape.number.limits;
  const auto add = [&](NumberShape number) {
    shapes.push_back(Of(kNumberType, shape.place));
    shapes.back().number = std::move(number);
  };
  if (shape.number.integer) add({.fraction = true});
  if (limits.least) add({.limits = {.most = limits.least, .most_excluded = !limits.least_excluded}});
  if (limits.most) add({.limits = {.least = limits.most, .least_excluded = !limits.most_excluded}});
  for (double multiple : shape.number.multiples) {
    if (multiple != 1) return NotSupported(shape.place, "multipleOf");
    add({.fraction = true});
  }
  return absl::OkStatus();
}

absl::Status NegateString(const Shape& shape, Shapes& shapes) {
  NegateCount(shape, shapes);
  for (const TextTerm& term : shape.terms) {
    if (term.kind == TextTerm::Kind::kFormat) return NotSupported(shape.place, "format");
    shapes.push_back(Of(kStringType, shape.place));
    shapes.back().terms.push_back(term);
    shapes.back().terms.back().negated = true;
  }
  return absl::OkStatus();
}

absl::Status NegateArray(const Shape& shape, Shapes& shapes) {
  NegateCount(shape, shapes);
  if (shape.unique) return NotSupported(shape.place, "uniqueItems");
  const auto add = [&]() -> Shape& { return shapes.emplace_back(Of(kArrayType, shape.place)); };
  for (const std::shared_ptr<const ElementRules>& rules : shape.elements) {
    for (size_t i = 0; i < rules->prefix.size(); ++i) {
      ElementRules broken;
      broken.prefix.resize(i);
      broken.prefix.push_back(Negated(rules->prefix[i]));
      Shape& one = add();
      one.count.least = static_cast<uint32_t>(i + 1);
      one.elements.push_back(std::make_shared<const ElementRules>(std::move(broken)));
    }
    if (rules->rest.empty()) continue;
    add().contains.push_back(
        {.schema = Negated(rules->rest), .count = {.least = 1}, .from = rules->prefix.size(), .place = shape.place});
  }
  for (const ContainsRule& rule : shape.contains) {
    ContainsRule fewer = rule, more = rule;
    fewer.count = {.least = 0, .most = rule.count.least - 1};
    more.count = {.least = rule.count.most + 1};
    if (rule.count.least > 0) add().contains.push_back(std::move(fewer));
    if (rule.count.most < kMostCount) add().contains.push_back(std::move(more));
  }
  return absl::OkStatus();
}

// Of a name that several keywords speak of, one is broken.
void NegateMembers(const std::shared_ptr<const MemberRules>& rules, const std::string& place, Shapes& shapes) {
  const auto add = [&]() -> Shape& { return shapes.emplace_back(Of(kObjectType, place)); };
  for (const auto& [name, schema] : rules->properties) {
    MemberRules broken{.place = place};
    broken.properties.emplace_back(name, Negated(schema));
    Shape& one = add();
    one.required = {name};
    one.members.push_back(std::make_shared<const MemberRules>(std::move(broken)));
  }
  for (const auto& [pattern, schema] : rules->patterns) {
    add().some.push_back({.pattern = pattern, .value = Negated(schema), .place = place});
  }
  if (rules->has_additional) {
    add().some.push_back({.beyond = rules, .value = Negated(rules->additional), .place = place});
  }
}

absl::Status NegateObject(const Shape& shape, Shapes& shapes) {
  NegateCount(shape, shapes);
  for (const std::string& name : shape.required) {
    shapes.push_back(Without(name, shape.place).back());
    shapes.back().spoken = true;
  }
  for (const std::shared_ptr<const MemberRules>& rules : shape.members) NegateMembers(rules, shape.place, shapes);
  return shape.names.empty() ? absl::OkStatus() : NotSupported(shape.place, "propertyNames");
}

}  // namespace

absl::StatusOr<Shapes> SchemaReader::ExpandNegated(const Object& schema, const std::string& place, TypeSet types) {
  const Json* nullable = schema.if_contains("nullable");
  if (nullable != nullptr && *nullable == true) types &= static_cast<TypeSet>(~kNullType);
  ASSIGN_OR_RETURN(const TypeWish wish, TypesOf(schema, place));
  Shapes broken;
  for (TypeSet type : {kNullType, kBooleanType, kNumberType, kStringType, kArrayType, kObjectType}) {
    if ((types & type) != 0 && (wish.types & type) == 0) broken.push_back(Of(type, place));
  }
  for (TypeSet type : {kNumberType, kStringType, kArrayType, kObjectType}) {
    if ((types & wish.types & type) == 0) continue;
    ASSIGN_OR_RETURN(const Shape bounds, BoundsOnType(schema, type, wish, place));
    if (type == kNumberType) RETURN_IF_ERROR(NegateNumber(bounds, broken));
    if (type == kStringType) RETURN_IF_ERROR(NegateString(bounds, broken));
    if (type == kArrayType) RETURN_IF_ERROR(NegateArray(bounds, broken));
    if (type == kObjectType) RETURN_IF_ERROR(NegateObject(bounds, broken));
  }
  for (const char* keyword : {"enum", "const"}) {
    const Json* values = schema.if_contains(keyword);
    if (values == nullptr) continue;
    const bool is_list = values->is_array() && keyword[0] == 'e';
    const json::array list = is_list ? values->get_array() : json::array{*values};
    RETURN_IF_ERROR(NegateValues({list.begin(), list.end()}, place, types & wish.types, broken));
  }
  ASSIGN_OR_RETURN(const Shapes applied, NegateApplicators(schema, place, types));
  broken.insert(broken.end(), applied.begin(), applied.end());
  return broken;
}

// Values that are none of these.
absl::Status SchemaReader::NegateValues(const std::vector<Json>& values, const std::string& place, TypeSet types,
                                        Shapes& shapes) {
  TypeSet listed = 0;
  std::set<long double> numbers;
  TextTerm texts{.kind = TextTerm::Kind::kValues, .negated = true, .place = place};
  for (const Json& value : values) {
    const TypeSet type = TypeOf(value);
    listed |= type;
    if ((types & type) == 0) continue;
    if (type == kNumberType) numbers.insert(NumberOf(value));
    if (type == kStringType) texts.values.emplace_back(View(value.get_string()));
    const bool is_empty =
        (value.is_array() && value.get_array().empty()) || (value.is_object() && value.get_object().empty());
    if ((type & (kArrayType | kObjectType)) != 0 && !is_empty)
      return NotSupported(place, "an array or object as value");
  }
  for (Shape& shape : AnyShapes(types, place)) {
    shape.spoken = true;
    const bool is_listed = (listed & shape.types) != 0;
    if (shape.types == kBooleanType && is_listed) {
      Shape other{.spoken = true, .place = place};
      for (bool truth : {true, false}) {
        if (std::find(values.begin(), values.end(), Json(truth)) == values.end()) other.values.emplace_back(truth);
      }
      if (!other.values.empty()) shapes.push_back(std::move(other));
      continue;
    }
    if (shape.types == kNullType && is_listed) continue;
    if (shape.types == kNumberType && is_listed) {
      if (numbers.size() > kMostNumbers) return NotSupported(place, "a list of so many numbers");
      shape.number.limits.most_excluded = true;
      for (long double number : numbers) {
        shape.number.limits.most = number;
        shapes.push_back(shape);
        shape.number.limits.least = number;
        shape.number.limits.least_excluded = true;
      }
      shape.number.limits.most.reset();
      shape.number.limits.most_excluded = false;
    }
    if (shape.types == kStringType && is_listed) shape.terms.push_back(texts);
    if ((shape.types & (kArrayType | kObjectType)) != 0 && is_listed) shape.count.least = 1;
    shapes.push_back(std::move(shape));
  }
  return absl::OkStatus();
}

absl::StatusOr<Shapes> SchemaReader::NegateApplicators(const Object& schema, const std::string& place, TypeSet types) {
  std::vector<Conjunction> choices;
  if (const Json* reference = schema.if_contains("$ref")) {
    ASSIGN_OR_RETURN(const Json* target, Target(*reference, place));
    choices.push_back(Negated(One(*target, place)));
  }
  ASSIGN_OR_RETURN(const json::array* all, ListOf(schema, "allOf", place));
  if (all != nullptr) {
    for (Atom& atom : AtomsOf(*all, Inside(place, "allOf"))) choices.push_back(Negated({std::move(atom)}));
  }
  ASSIGN_OR_RETURN(const json::array* any, ListOf(schema, "anyOf", place));
  if (any != nullptr) choices.push_back(Negated(AtomsOf(*any, Inside(place, "anyOf"))));
  ASSIGN_OR_RETURN(const json::array* one, ListOf(schema, "oneOf", place));
  if (one != nullptr) {
    const std::vector<Atom> parts = AtomsOf(*one, Inside(place, "oneOf"));
    choices.push_back(Negated(parts));
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t j = 0; j < i; ++j) choices.push_back({parts[j], parts[i]});
    }
  }
  if (const Json* not_this = schema.if_contains("not")) choices.push_back(One(*not_this, Inside(place, "not")));
  const Json *then = schema.if_contains("then"), *otherwise = schema.if_contains("else");
  if (const Json* condition = schema.if_contains("if")) {
    const Atom yes{.schema = condition, .place = Inside(place, "if")};
    Atom no = yes;
    no.negated = true;
    if (then != nullptr) choices.push_back({yes, {.schema = then, .negated = true, .place = Inside(place, "then")}});
    if (otherwise != nullptr) {
      choices.push_back({no, {.schema = otherwise, .negated = true, .place = Inside(place, "else")}});
    }
  }
  ASSIGN_OR_RETURN(Shapes broken, Union(choices, types));
  std::vector<std::pair<std::string, Conjunction>> schemas;
  std::vector<std::pair<std::string, std::vector<std::string>>> names;
  RETURN_IF_ERROR(AddDependencies(schema, place, schemas, names));
  if ((types & kObjectType) == 0) return broken;
  for (const auto& [name, needed] : names) {
    for (const std::string& other : needed) {
      ASSIGN_OR_RETURN(const Shapes some, Common({With({name}, place)}, Without(other, place)));
      broken.insert(broken.end(), some.begin(), some.end());
    }
  }
  for (const auto& [name, needed] : schemas) {
    ASSIGN_OR_RETURN(const Shapes unbound, Expand(Negated(needed), kObjectType));
    ASSIGN_OR_RETURN(const Shapes some, Common({With({name}, place)}, unbound));
    broken.insert(broken.end(), some.begin(), some.end());
  }
  return broken;
}

}  // namespace inferd::constraint
