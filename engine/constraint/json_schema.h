// JSON schemas (draft 2020-12, and those back to draft 4) as rules: what is generated validates against the schema.
//
//   std::vector<SchemaWarning> warnings;
//   ASSIGN_OR_RETURN(ExprId value, ReadJsonSchema(R"({"type": "object", "properties": {...}})", grammar,
//                                                 {.warnings = &warnings}));
//
// Not every valid document is generated: properties come in the schema's order, and others than those of `properties`
// only where additionalProperties, patternProperties or a count ask for them; a tuple ends with its last element; a
// schema without `type` means the types that its keywords speak of. Options.narrow = false generates these, too.
// A keyword that says something that no grammar can hold, or that is not known, is an error that names it; those that
// only describe are passed by, and a `format` that is not known is a warning.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/warning.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

struct SchemaWarning {
  std::string place;  // a JSON pointer
  std::string text;
};
// As warnings about `field`.
void AddWarnings(std::string_view field, const std::vector<SchemaWarning>& warnings, std::vector<Warning>& all);

struct SchemaOptions {
  bool narrow = true;
  std::vector<SchemaWarning>* warnings = nullptr;
};

// INVALID_ARGUMENT: "at #/properties/a: ...", the place as a JSON pointer.
absl::StatusOr<ExprId> ReadJsonSchema(std::string_view text, Grammar& grammar, const SchemaOptions& options = {});
absl::StatusOr<ExprId> ReadJsonSchema(const boost::json::value& schema, Grammar& grammar,
                                      const SchemaOptions& options = {});

}  // namespace inferd::constraint
