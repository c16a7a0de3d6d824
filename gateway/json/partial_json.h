// JSON that breaks off: what of it is complete.
//
//   boost::json::object input = ParsePartialObject(R"({"a": [1, 2], "b": "cut o)");   // {"a": [1, 2]}
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace inferd::gateway {

// The members and elements that are complete, in the objects and arrays that were begun. A number at the end counts as
// complete where it is one as it stands, as it does for clients that read streams so. Empty where `text` is no
// beginning of an object.
boost::json::object ParsePartialObject(std::string_view text);

}  // namespace inferd::gateway
