// JSON of untrusted clients: bounded depth, no duplicate keys, valid UTF-8 alone.
//
//   ASSIGN_OR_RETURN(boost::json::object body, ParseJsonObject(request.body));
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace inferd::gateway {

inline constexpr int kMaxJsonDepth = 64;

// INVALID_ARGUMENT with the place (in bytes) for malformed JSON, wrong UTF-8, lone surrogates, a name twice in one
// object, nesting deeper than kMaxJsonDepth, or a document that is not an object.
absl::StatusOr<boost::json::object> ParseJsonObject(std::string_view text);

}  // namespace inferd::gateway
