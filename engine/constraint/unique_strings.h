// Lists of strings no two of which are equal: they come in the order of their first two characters, letters of either
// case alike, and no two begin alike. That is a part of all such lists, and regular.
//
//   ExprId names = WriteUniqueStrings({.least = 1}, json, grammar);
#pragma once

#include "engine/constraint/json_grammar.h"
#include "engine/constraint/schema_shape.h"

namespace inferd::constraint {

// Longer lists are not counted: a larger `most` is lowered to it, and `least` may not be larger.
constexpr uint32_t kMostUniqueStrings = 8;

ExprId WriteUniqueStrings(CountBounds count, JsonGrammar& json, Grammar& grammar);

}  // namespace inferd::constraint
