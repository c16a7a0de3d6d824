// From schemas to shapes. What a schema says of a type without naming it counts as not spoken; such shapes are kept,
// for they matter where the schema is negated or joined with another.
#include <algorithm>
#include <boost/json/array.hpp>
#include <unordered_set>

#include "config/base/status.h"
#include "engine/constraint/schema_bounds.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr size_t kMostShapes = 2000;
constexpr size_t kMostExclusive = 200;
constexpr int kDeepestEmpty = 3;

TypeSet TypesIn(const Shapes& shapes) {
  TypeSet types = 0;
  for (const Shape& shape : shapes) {
    types |= shape.types;
    for (const json::value& value : shape.values) types |= TypeOf(value);
  }
  return types;
}

}  // namespace

absl::StatusOr<Shapes> SchemaReader::Expand(const Conjunction& all, TypeSet types) {
  if (all.empty()) return AnyShapes(types, "#");
  Shapes shapes;
  for (size_t i = 0; i < all.size(); ++i) {
    const TypeSet left = i == 0 ? types : TypesIn(shapes);
    if (left == 0) break;
    ASSIGN_OR_RETURN(const std::shared_ptr<const Shapes> with, ExpandAtom(all[i], left));
    if (i == 0) {
      shapes = *with;
    } else {
      ASSIGN_OR_RETURN(shapes, Common(shapes, *with));
    }
  }
  return shapes;
}

absl::StatusOr<std::shared_ptr<const Shapes>> SchemaReader::ExpandAtom(const Atom& atom, TypeSet types) {
  const std::tuple key(atom.schema, atom.negated, types);
  if (const auto found = expanded_.find(key); found != expanded_.end()) return found->second;
  RETURN_IF_ERROR(Spend(atom.place));
  if (expanding_.size() > 500 || !expanding_.insert({atom.schema, atom.negated}).second) {
    return InvalidArgument("at {}: the schema leads back to itself", atom.place);
  }
  absl::StatusOr<Shapes> shapes = ExpandSchema(atom, types);
  expanding_.erase({atom.schema, atom.negated});
  RETURN_IF_ERROR(shapes.status());
  return expanded_[key] = std::make_shared<const Shapes>(*std::move(shapes));
}

absl::StatusOr<Shapes> SchemaReader::ExpandSchema(const Atom& atom, TypeSet types) {
  const Json& schema = *atom.schema;
  if (schema.is_bool()) return schema.get_bool() != atom.negated ? AnyShapes(types, atom.place) : Shapes();
  if (!schema.is_object()) return InvalidArgument("at {}: {} is not a schema", atom.place, Shown(schema));
  const Object& object = schema.get_object();
  RETURN_IF_ERROR(CheckKeywords(object, atom.place));
  if (ref_stands_alone_ && object.contains("$ref")) {
    ASSIGN_OR_RETURN(const Json* target, Target(object.at("$ref"), atom.place));
    return Expand({{.schema = target, .negated = atom.negated, .place = atom.place}}, types);
  }
  if (atom.negated) return ExpandNegated(object, atom.place, types);
  ASSIGN_OR_RETURN(Shapes shapes, ExpandObject(object, atom.place, types));
  const Json* nullable = object.if_contains("nullable");
  if (nullable != nullptr && *nullable == true && (types & kNullType) != 0) {
    shapes.push_back({.types = kNullType, .spoken = true, .place = atom.place});
  }
  return shapes;
}

absl::StatusOr<Shapes> SchemaReader::ExpandObject(const Object& schema, const std::string& place, TypeSet types) {
  ASSIGN_OR_RETURN(Shapes shapes, Typed(schema, place, types));
  ASSIGN_OR_RETURN(const std::vector<std::vector<Conjunction>> applicators, Applicators(schema, place));
  for (const std::vector<Conjunction>& choices : applicators) {
    const TypeSet left = TypesIn(shapes);
    if (left == 0) return shapes;
    ASSIGN_OR_RETURN(const Shapes with, Union(choices, left));
    ASSIGN_OR_RETURN(shapes, Common(shapes, with));
  }
  std::vector<std::pair<std::string, Conjunction>> schemas;
  std::vector<std::pair<std::string, std::vector<std::string>>> names;
  RETURN_IF_ERROR(AddDependencies(schema, place, schemas, names));
  for (const auto& [name, needed] : names) {
    Shapes with = Without(name, place);
    with.push_back(With({name}, place));
    with.back().required.insert(with.back().required.end(), needed.begin(), needed.end());
    ASSIGN_OR_RETURN(shapes, Common(shapes, with));
  }
  for (const auto& [name, needed] : schemas) {
    ASSIGN_OR_RETURN(const Shapes bound, Expand(needed, kObjectType));
    ASSIGN_OR_RETURN(Shapes with, Common({With({name}, place)}, bound));
    const Shapes without = Without(name, place);
    with.insert(with.end(), without.begin(), without.end());
    ASSIGN_OR_RETURN(shapes, Common(shapes, with));
  }
  return shapes;
}

absl::StatusOr<Shapes> SchemaReader::Typed(const Object& schema, const std::string& place, TypeSet types) {
  ASSIGN_OR_RETURN(const TypeWish wish, TypesOf(schema, place));
  Shapes shapes;
  for (const Shape& any : AnyShapes(types & wish.types, place)) {
    ASSIGN_OR_RETURN(Shape shape, BoundsOnType(schema, any.types, wish, place));
    if (!IsImpossible(shape)) shapes.push_back(std::move(shape));
  }
  ASSIGN_OR_RETURN(const json::array* listed, ListOf(schema, "enum", place));
  if (listed != nullptr) {
    Shape values{.spoken = true, .place = place};
    values.values.assign(listed->begin(), listed->end());
    ASSIGN_OR_RETURN(shapes, Common(shapes, {std::move(values)}));
  }
  if (const Json* constant = schema.if_contains("const")) {
    Shape values{.spoken = true, .place = place};
    values.values.push_back(*constant);
    ASSIGN_OR_RETURN(shapes, Common(shapes, {std::move(values)}));
  }
  return shapes;
}

absl::StatusOr<std::vector<std::vector<Conjunction>>> SchemaReader::Applicators(const Object& schema,
                                                                                const std::string& place) {
  std::vector<std::vector<Conjunction>> groups;
  if (const Json* reference = schema.if_contains("$ref")) {
    ASSIGN_OR_RETURN(const Json* target, Target(*reference, place));
    groups.push_back({One(*target, place)});
  }
  ASSIGN_OR_RETURN(const json::array* all, ListOf(schema, "allOf", place));
  if (all != nullptr) {
    for (Atom& atom : AtomsOf(*all, Inside(place, "allOf"))) groups.push_back({{std::move(atom)}});
  }
  ASSIGN_OR_RETURN(const json::array* any, ListOf(schema, "anyOf", place));
  if (any != nullptr) {
    std::vector<Conjunction>& choices = groups.emplace_back();
    for (Atom& atom : AtomsOf(*any, Inside(place, "anyOf"))) choices.push_back({std::move(atom)});
  }
  ASSIGN_OR_RETURN(const json::array* one, ListOf(schema, "oneOf", place));
  if (one != nullptr) {
    ASSIGN_OR_RETURN(std::vector<Conjunction> choices, Exclusive(AtomsOf(*one, Inside(place, "oneOf"))));
    groups.push_back(std::move(choices));
  }
  if (const Json* not_this = schema.if_contains("not")) {
    groups.push_back({{{.schema = not_this, .negated = true, .place = Inside(place, "not")}}});
  }
  const Json *then = schema.if_contains("then"), *otherwise = schema.if_contains("else");
  if (const Json* condition = schema.if_contains("if"); condition != nullptr && (then || otherwise)) {
    Conjunction yes = One(*condition, Inside(place, "if")), no = yes;
    no[0].negated = true;
    if (then != nullptr) yes.push_back({.schema = then, .place = Inside(place, "then")});
    if (otherwise != nullptr) no.push_back({.schema = otherwise, .place = Inside(place, "else")});
    groups.push_back({std::move(yes), std::move(no)});
  }
  return groups;
}

absl::Status SchemaReader::AddDependencies(const Object& schema, const std::string& place,
                                           std::vector<std::pair<std::string, Conjunction>>& schemas,
                                           std::vector<std::pair<std::string, std::vector<std::string>>>& names) const {
  for (const char* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    ASSIGN_OR_RETURN(const Object* dependencies, ObjectIn(schema, keyword, place));
    if (dependencies == nullptr) continue;
    for (const auto& [key, value] : *dependencies) {
      const std::string name(key.data(), key.size()), inside = Inside(Inside(place, keyword), name);
      if (value.is_array()) {
        ASSIGN_OR_RETURN(std::vector<std::string> needed, NamesOf(value, inside));
        names.emplace_back(name, std::move(needed));
      } else {
        schemas.emplace_back(name, One(value, inside));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shapes> SchemaReader::Union(const std::vector<Conjunction>& choices, TypeSet types) {
  Shapes shapes;
  for (const Conjunction& choice : choices) {
    ASSIGN_OR_RETURN(Shapes some, Expand(choice, types));
    shapes.insert(shapes.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return shapes;
}

absl::StatusOr<Shapes> SchemaReader::Common(const Shapes& a, const Shapes& b) {
  Shapes common;
  const auto filter = [&](const Shape& list, const Shapes& with, bool by_lists) -> absl::Status {
    Shape kept = list;
    kept.values.clear();
    std::unordered_set<std::string> others;
    for (const Shape& shape : with) {
      for (const Json& value : shape.values) others.insert(CanonicalText(value));
    }
    for (const Json& value : list.values) {
      RETURN_IF_ERROR(Spend(list.place, 0));
      bool keeps = by_lists && !others.empty() && others.contains(CanonicalText(value));
      for (size_t i = 0; i < with.size() && !keeps; ++i) {
        if (with[i].types == 0) continue;
        ASSIGN_OR_RETURN(keeps, Accepts(value, with[i]));
      }
      if (keeps) kept.values.push_back(value);
    }
    if (!kept.values.empty()) common.push_back(std::move(kept));
    return absl::OkStatus();
  };
  for (const Shape& x : a) {
    if (x.types == 0) RETURN_IF_ERROR(filter(x, b, /*by_lists=*/true));
    for (const Shape& y : b) {
      if (x.types == 0 || x.types != y.types) continue;
      RETURN_IF_ERROR(Spend(x.place));
      std::optional<Shape> both = CommonShape(x, y);
      if (both) common.push_back(*std::move(both));
      if (common.size() > kMostShapes) {
        return InvalidArgument("at {}: the schema is too large: more than {} combinations", x.place, kMostShapes);
      }
    }
  }
  for (const Shape& y : b) {
    if (y.types == 0) RETURN_IF_ERROR(filter(y, a, /*by_lists=*/false));
  }
  return common;
}

// Each part, without what the parts say that some value satisfies beside it.
absl::StatusOr<std::vector<Conjunction>> SchemaReader::Exclusive(const std::vector<Atom>& parts) {
  if (parts.size() > kMostExclusive) {
    return InvalidArgument("at {}: oneOf of more than {} schemas", parts[0].place, kMostExclusive);
  }
  std::vector<Conjunction> choices;
  for (const Atom& part : parts) {
    Conjunction choice = {part};
    for (const Atom& other : parts) {
      if (&other == &part || Disjoint(part, other)) continue;
      choice.push_back(other);
      choice.back().negated = true;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

bool SchemaReader::Disjoint(const Atom& a, const Atom& b) {
  const auto key = std::minmax(a.schema, b.schema);
  const auto [found, is_new] = disjoint_.try_emplace(key, false);
  if (is_new) disjoint_[key] = IsEmpty({a, b}, kDeepestEmpty);
  return disjoint_[key];
}

bool SchemaReader::IsEmpty(const Conjunction& all, int depth) {
  const absl::StatusOr<Shapes> shapes = Expand(all);
  return shapes.ok() && std::all_of(shapes->begin(), shapes->end(), [&](const Shape& s) { return IsEmpty(s, depth); });
}

// Whether it is seen that no value satisfies the shape.
bool SchemaReader::IsEmpty(const Shape& shape, int depth) {
  if (shape.types == 0) return shape.values.empty();
  if (shape.types == kStringType && (shape.terms.size() > 1 || (!shape.terms.empty() && shape.count.least > 0))) {
    const absl::StatusOr<TextSet> texts = TextsOf(shape);
    return texts.ok() && texts->empty();
  }
  if (depth <= 0) return false;
  if (shape.types == kObjectType) {
    return std::any_of(shape.required.begin(), shape.required.end(), [&](const std::string& name) {
      const absl::StatusOr<Conjunction> member = MemberNamed(shape, name);
      return member.ok() && IsEmpty(*member, depth - 1);
    });
  }
  if (shape.types == kArrayType) {
    for (size_t i = 0; i < std::min<size_t>(shape.count.least, 8); ++i) {
      if (IsEmpty(ElementAt(shape, i), depth - 1)) return true;
    }
    return std::any_of(shape.contains.begin(), shape.contains.end(), [&](const ContainsRule& rule) {
      return rule.count.least > 0 && IsEmpty(rule.schema, depth - 1);
    });
  }
  return false;
}

}  // namespace inferd::constraint
