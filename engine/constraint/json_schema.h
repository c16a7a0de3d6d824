// JSON schemas (draft 2020-12, the part that is a grammar) as rules: what is generated validates against the schema.
//
//   ASSIGN_OR_RETURN(ExprId value, ReadJsonSchema(R"({"type": "object", "properties": {...}})", grammar));
//
// Not every valid document is generated: properties come in the schema's order, and others than those of `properties`
// only where additionalProperties or patternProperties ask for them; a schema without `type` means the type that its
// keywords speak of. A keyword that says something that no grammar can hold, or that is not known, is an error that
// names it; those that only describe are passed by. `oneOf` is taken as `anyOf`.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

// INVALID_ARGUMENT: "at #/properties/a: ...", the place as a JSON pointer.
absl::StatusOr<ExprId> ReadJsonSchema(std::string_view text, Grammar& grammar);
absl::StatusOr<ExprId> ReadJsonSchema(const boost::json::value& schema, Grammar& grammar);

}  // namespace inferd::constraint
