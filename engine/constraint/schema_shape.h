// What a schema says, as alternatives: each is a list of values, or bounds on values of one type. Schemas within it
// (of properties, of elements) are not read yet: a Conjunction names those that must hold, or must not.
//
//   Shape even{.types = kNumber, .number = {.integer = true, .multiples = {2}}};
//   Conjunction both = {{.schema = &a, .place = "#/allOf/0"}, {.schema = &b, .negated = true, .place = "#/not"}};
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/constraint/grammar.h"

namespace inferd::constraint {

using TypeSet = uint8_t;
constexpr TypeSet kNullType = 1, kBooleanType = 2, kNumberType = 4, kStringType = 8, kArrayType = 16, kObjectType = 32;
constexpr TypeSet kAllTypes = 63;

struct Atom {
  const boost::json::value* schema;
  bool negated = false;
  std::string place;  // a JSON pointer, for errors
};
// All of them hold; none: anything.
using Conjunction = std::vector<Atom>;

struct CountBounds {
  uint32_t least = 0, most = kUnbounded;
};

// Wide enough for integers of 64 bits.
struct NumberLimits {
  std::optional<long double> least, most;
  bool least_excluded = false, most_excluded = false;
};
struct NumberShape {
  bool integer = false;
  bool fraction = false;  // no integer
  NumberLimits limits;
  std::vector<double> multiples;
};

// A string must match it, or must not.
struct TextTerm {
  enum class Kind : uint8_t { kPattern, kFormat, kValues };
  Kind kind;
  bool negated = false;
  std::string text;                 // the pattern, the format
  std::vector<std::string> values;  // of kValues
  std::string place;
};

// Keywords on elements that stand in one schema.
struct ElementRules {
  std::vector<Conjunction> prefix;
  Conjunction rest;  // of elements behind the prefix
  bool open = true;  // elements behind the prefix were not left out by the schema's author
};
// Elements from the `from`-th on, so many of which satisfy the schema.
struct ContainsRule {
  Conjunction schema;
  CountBounds count{.least = 1};
  size_t from = 0;
  std::string place;
};

// Keywords on members that stand in one schema: of a name all that say something of it hold, else `additional`.
struct MemberRules {
  std::vector<std::pair<std::string, Conjunction>> properties;
  std::vector<std::pair<std::string, Conjunction>> patterns;
  Conjunction additional;
  bool has_additional = false;
  std::string place;
};
// Some member whose name is none of these and matches the pattern, where there is one, has such a value.
struct SomeMember {
  std::optional<std::string> pattern;
  std::shared_ptr<const MemberRules> beyond;  // not a name that its properties or patterns speak of; nullptr: any
  Conjunction value;
  std::string place;
};

struct Shape {
  TypeSet types = 0;    // one type; 0: `values`
  bool spoken = false;  // a keyword speaks of the type
  std::vector<boost::json::value> values;
  NumberShape number;
  CountBounds count;  // of characters, elements or members
  std::vector<TextTerm> terms;
  std::vector<std::shared_ptr<const ElementRules>> elements;
  std::vector<ContainsRule> contains;
  bool unique = false;
  std::vector<std::shared_ptr<const MemberRules>> members;
  std::vector<std::string> required;
  std::vector<SomeMember> some;
  Conjunction names;  // of propertyNames
  std::string place;
};
using Shapes = std::vector<Shape>;

TypeSet TypeOf(const boost::json::value& value);
bool IsInteger(const boost::json::value& value);
long double NumberOf(const boost::json::value& value);
// The same for equal values: numbers by their value, members in the order of their names.
std::string CanonicalText(const boost::json::value& value);

// What both say of values of one type, which both are of; nullopt: no value satisfies both, as far as is seen at once.
std::optional<Shape> CommonShape(const Shape& a, const Shape& b);
// Whether its counts or its numbers exclude each other.
bool IsImpossible(const Shape& shape);
bool Satisfies(long double value, const NumberShape& number);

}  // namespace inferd::constraint
