#include "engine/constraint/schema_merge.h"

#include <boost/json/array.hpp>

#include "config/base/status.h"
#include "engine/constraint/schema_keywords.h"

namespace inferd::constraint {

namespace json = boost::json;

absl::StatusOr<json::object> MergeSchemas(const json::object& a, const json::object& b, const std::string& place) {
  json::object both = a, rest;
  for (const auto& [key, value] : b) {
    const json::value* other = a.if_contains(key);
    if (other == nullptr) both[key] = value;
    if (other != nullptr && *other != value) rest[key] = value;
  }
  if (rest.empty()) return both;
  ASSIGN_OR_RETURN(const json::array* parts, ListOf(a, "allOf", place));
  json::array all = parts != nullptr ? *parts : json::array();
  all.push_back(std::move(rest));
  both["allOf"] = std::move(all);
  return both;
}

}  // namespace inferd::constraint
