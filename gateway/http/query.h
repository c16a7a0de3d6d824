// The parameters of a request target's query.
//
//   absl::StatusOr<std::vector<QueryParameter>> parameters = ParseQuery("limit=3&after_id=a%20b");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::gateway {

struct QueryParameter {
  std::string name;
  std::string value;
};

// In their order, percent-decoded, + as a space (as HTML forms write it). INVALID_ARGUMENT: a wrong percent-encoding.
absl::StatusOr<std::vector<QueryParameter>> ParseQuery(std::string_view query);

}  // namespace inferd::gateway
