// Regular expressions, in the syntax of Perl and Python: the part that is regular.
//
//   ASSIGN_OR_RETURN(ExprId expr, ReadRegex("[a-z]+(-[0-9]{2,4})?", grammar));
//
// Literals, ., classes, \d \w \s (of ASCII) and their complements, escapes, groups, |, * + ? {m,n} and their lazy
// forms, which match the same texts. ^ and $ at the beginning and the end of an alternative mean nothing where the
// whole text must match. What is not regular or not known is refused by its name: lookaround, back-references, flags,
// \b, \p.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

struct RegexOptions {
  // How a character of a set is spelled; nullptr: in UTF-8.
  std::function<ExprId(const CharSet&)> spell = nullptr;
  // The text need only contain a match, as JSON schemas want it: ^ and $ bind it to the ends.
  bool anywhere = false;
};

// INVALID_ARGUMENT: "at offset 3: ...", counted in bytes.
absl::StatusOr<ExprId> ReadRegex(std::string_view pattern, Grammar& grammar, const RegexOptions& options = {});

}  // namespace inferd::constraint
