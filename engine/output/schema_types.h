// Which types of JSON values a schema leaves: what a parameter written as plain text may mean.
//
//   JsonTypes types = TypesOfSchema(parameters.at("properties").at("city"), parameters);
//   if (types == kJsonString) ...                       // the text is the value
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>

namespace inferd::output {

using JsonTypes = uint8_t;  // bits
constexpr JsonTypes kJsonString = 1, kJsonNumber = 2, kJsonObject = 4, kJsonArray = 8, kJsonBoolean = 16,
                    kJsonNull = 32, kAnyJson = 63;

JsonTypes TypeOfValue(const boost::json::value& value);
// No type that the schema allows is missing; `root` is what its references lead into.
JsonTypes TypesOfSchema(const boost::json::value& schema, const boost::json::object& root);

}  // namespace inferd::output
