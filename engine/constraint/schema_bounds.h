// What the keywords of one schema that are of one type say, as a shape; and shapes of a few plain kinds.
//
//   ASSIGN_OR_RETURN(const Shape length, BoundsOnType(schema, kStringType, types, "#/properties/a"));
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_shape.h"

namespace inferd::constraint {

// `wish`: of the schema. INVALID_ARGUMENT: a keyword's value is wrong.
absl::StatusOr<Shape> BoundsOnType(const boost::json::object& schema, TypeSet type, const TypeWish& wish,
                                   const std::string& place);

// A shape of each type, that says nothing.
Shapes AnyShapes(TypeSet types, const std::string& place);
// Objects without the member, and all other values.
Shapes Without(const std::string& name, const std::string& place);
// Objects with the members.
Shape With(const std::vector<std::string>& names, const std::string& place);

Conjunction One(const boost::json::value& schema, const std::string& place);
std::vector<Atom> AtomsOf(const boost::json::array& parts, const std::string& place);
// A conjunction that nothing satisfies.
Conjunction Never(const std::string& place);

}  // namespace inferd::constraint
