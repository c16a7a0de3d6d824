// A request's wish about its output, as one program.
//
//   ConstraintSource source = SourceOf({.kind = OutputKind::kRegex, .text = "[0-9]+"});
//   ASSIGN_OR_RETURN(Constraint constraint, engine.Constrain(source));
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/constraint/answer_grammar.h"
#include "engine/constraint/constraint_cache.h"

namespace inferd::constraint {

// What the content must be.
enum class OutputKind : uint8_t { kFree, kJsonObject, kJsonSchema, kRegex, kGrammar, kChoice };

constexpr size_t kMostSourceBytes = 1 << 20;  // of a schema, regular expression or grammar

struct OutputWish {
  OutputKind kind = OutputKind::kFree;
  std::string text;  // the schema, regular expression or grammar; of kChoice, a JSON array of the texts
  // Calls that may come instead of the content; with kFree, they must, unless they may follow any text.
  std::optional<CallDemand> calls;
  bool calls_after_text = false;  // with kFree and a format that has calls
  // Of the chat; empty for plain prompts.
  output::AnswerFormat format;
  bool in_reasoning = false;
  AnswerGrammar::FindControl find_control = [](std::string_view) { return std::nullopt; };
};

// INVALID_ARGUMENT, of its compile: "constraint.regex: at offset 3: ...".
ConstraintSource SourceOf(OutputWish wish);

}  // namespace inferd::constraint
