// The values of a schema's keyword "format" that are known, as regular expressions.
//
//   if (const std::optional<std::string_view> pattern = PatternOfFormat("date")) ...
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferd::constraint {

// What a string of this format matches as a whole; nullopt: the format is not known.
std::optional<std::string_view> PatternOfFormat(std::string_view format);

}  // namespace inferd::constraint
