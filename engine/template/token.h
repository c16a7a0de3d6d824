// The words of a template's source.
//
//   ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize("{% if x %}yes{% endif %}"));
//   // block_begin, name "if", name "x", block_end, data "yes", block_begin, name "endif", block_end, end
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::chat_template {

struct Position {
  uint32_t line = 1;    // from 1
  uint32_t column = 1;  // from 1, in code points
};

enum class TokenType : uint8_t {
  kData,  // text outside of all tags, whitespace control already applied
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type;
  std::string text;  // of a string: the value, escapes resolved
  int64_t integer = 0;
  double real = 0;
  Position position;

  bool IsOperator(std::string_view spelling) const { return type == TokenType::kOperator && text == spelling; }
  bool IsName(std::string_view name) const { return type == TokenType::kName && text == name; }
};

// Lexes with trim_blocks and lstrip_blocks on; newlines become "\n", one at the very end is dropped. The last token is
// kEnd. INVALID_ARGUMENT with line and column.
absl::StatusOr<std::vector<Token>> Tokenize(std::string_view source);

// The status of an error in the source: "line 3, column 14: ...".
absl::Status ErrorAt(Position position, std::string_view message);

}  // namespace inferd::chat_template
