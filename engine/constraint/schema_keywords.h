// Keywords of JSON schemas, and how their values are read.
//
//   RETURN_IF_ERROR(CheckKeywords(schema, "#/properties/a"));
//   ASSIGN_OR_RETURN(CountBounds length, BoundsOf(schema, "minLength", "maxLength", place));
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/constraint/schema_shape.h"

namespace inferd::constraint {

// Keywords that only describe.
bool IsAnnotation(std::string_view keyword);
bool OnlyDescribes(const boost::json::object& schema, std::string_view but);
// INVALID_ARGUMENT: a keyword that is not known or not supported.
absl::Status CheckKeywords(const boost::json::object& schema, const std::string& place);
// The types that the schema's keywords speak of, "type" aside.
TypeSet TypesSpokenOf(const boost::json::object& schema);

struct TypeWish {
  TypeSet types = kAllTypes;
  bool only_integers = false;  // of the numbers
  bool given = false;
};
absl::StatusOr<TypeWish> TypesOf(const boost::json::object& schema, const std::string& place);
absl::StatusOr<CountBounds> BoundsOf(const boost::json::object& schema, const char* least, const char* most,
                                     const std::string& place);
absl::StatusOr<NumberLimits> LimitsOf(const boost::json::object& schema, const std::string& place);
absl::StatusOr<std::vector<std::string>> NamesOf(const boost::json::value& list, const std::string& place);
// Its value, or nullptr; INVALID_ARGUMENT: it is no list, no object.
absl::StatusOr<const boost::json::array*> ListOf(const boost::json::object& schema, std::string_view keyword,
                                                 const std::string& place);
absl::StatusOr<const boost::json::object*> ObjectIn(const boost::json::object& schema, std::string_view keyword,
                                                    const std::string& place);

// "#/properties/a" + "b": the place of what is inside.
std::string Inside(const std::string& place, std::string_view key);
// The value's text, cut short.
std::string Shown(const boost::json::value& value);

}  // namespace inferd::constraint
