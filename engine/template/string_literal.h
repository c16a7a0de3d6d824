// The escapes of a string literal in a template: those of Python's string literals.
//
//   ResolveEscapes(R"(a\n\x41é)") == "a\nA\u00e9"
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace inferd::chat_template {

// Unknown escapes stand for themselves. INVALID_ARGUMENT: a truncated \x, \u or \U, a code point that does not exist.
absl::StatusOr<std::string> ResolveEscapes(std::string_view literal);

}  // namespace inferd::chat_template
