// Two schemas as one.
//
//   ASSIGN_OR_RETURN(json::object both, MergeSchemas(a, {{"type", "object"}}, "#"));
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace inferd::constraint {

// A schema that a value satisfies if it satisfies both; what `a` refers to stays where it is. INVALID_ARGUMENT, at
// `place`: allOf of `a` is no list.
absl::StatusOr<boost::json::object> MergeSchemas(const boost::json::object& a, const boost::json::object& b,
                                                 const std::string& place);

}  // namespace inferd::constraint
