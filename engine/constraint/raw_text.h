// The strings of a schema as they are written without quotes and escapes, up to a mark that ends them.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<const Program> json, Program::Create(scratch));   // of the schema's JSON texts
//   std::optional<ExprId> text = RawText(json, "</parameter>", grammar);
//
// The text of a string is taken if its JSON is a text of the program, spelled with the shortest escapes, and if the
// mark is not in it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "engine/constraint/grammar.h"
#include "engine/constraint/program.h"

namespace inferd::constraint {

// nullopt: that takes more states than a grammar should have. A text "null" stands for null where the program takes it.
std::optional<ExprId> RawText(std::shared_ptr<const Program> json, std::string_view mark, Grammar& grammar);

}  // namespace inferd::constraint
