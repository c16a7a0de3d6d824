// Source of a template to its syntax tree.
//
//   ASSIGN_OR_RETURN(SyntaxTree tree, ParseTemplate("Hello {{ name|upper }}!"));
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "engine/template/ast.h"

namespace inferd::chat_template {

// Symbols that every tree has, in this order.
inline constexpr Symbol kLoopSymbol = 0;
inline constexpr Symbol kCallerSymbol = 1;
inline constexpr Symbol kVarargsSymbol = 2;
inline constexpr Symbol kKwargsSymbol = 3;
inline constexpr Symbol kSelfSymbol = 4;

// INVALID_ARGUMENT with line and column. Nesting is bounded: no source overflows the stack.
absl::StatusOr<SyntaxTree> ParseTemplate(std::string_view source);

}  // namespace inferd::chat_template
