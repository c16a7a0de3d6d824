// Grammars in GBNF, the notation of llama.cpp.
//
//   RETURN_IF_ERROR(ReadGbnf("root ::= \"yes\" | \"no\"", grammar));
//
// Rules `name ::= ...`, literals, classes, ., groups, | and the repetitions * + ? {m} {m,} {m,n}; comments from # to
// the end of the line. A rule ends with its line, but for lines within parentheses, after | or ::= and before |. The
// text is what the rule `root` matches.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

// Sets the grammar's root. INVALID_ARGUMENT: "line 3, column 7: ...".
absl::Status ReadGbnf(std::string_view text, Grammar& grammar);

}  // namespace inferd::constraint
