// Something in a request that is not kept, though the request is answered.
//
//   warnings.push_back({.field = "constraint.json_schema", .text = "at #: format date is not known"});
#pragma once

#include <fmt/format.h>

#include <string>

namespace inferd {

struct Warning {
  // Path of the field, as in errors.
  std::string field;
  std::string text;
};

// As people are shown it.
inline std::string ToString(const Warning& warning) { return fmt::format("{}: {}", warning.field, warning.text); }

}  // namespace inferd
