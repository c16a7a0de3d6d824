// Two schemas as one that a value must satisfy both of (allOf, and keywords beside anyOf and $ref).
//
//   ASSIGN_OR_RETURN(boost::json::object both, MergeSchemas(a, b, "#/allOf/1"));
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace inferd::constraint {

// INVALID_ARGUMENT, with the place: a keyword is in both with values that do not join.
absl::StatusOr<boost::json::object> MergeSchemas(const boost::json::object& a, const boost::json::object& b,
                                                 const std::string& place);

// Keywords that only describe.
bool IsAnnotation(std::string_view keyword);

}  // namespace inferd::constraint
