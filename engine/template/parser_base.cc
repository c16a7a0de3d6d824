#include "engine/template/parser_base.h"

namespace inferd::chat_template {
namespace {

std::string Describe(const Token& token) {
  switch (token.type) {
    case TokenType::kData:
      return "text";
    case TokenType::kVariableBegin:
      return "'{{'";
    case TokenType::kVariableEnd:
      return "'}}'";
    case TokenType::kBlockBegin:
      return "'{%'";
    case TokenType::kBlockEnd:
      return "'%}'";
    case TokenType::kString:
      return "a string";
    case TokenType::kFloat:
      return "a number";
    case TokenType::kEnd:
      return "the end of the template";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

bool ParserBase::SkipOperator(std::string_view spelling) {
  if (!current().IsOperator(spelling)) return false;
  Take();
  return true;
}

bool ParserBase::SkipName(std::string_view name) {
  if (!current().IsName(name)) return false;
  Take();
  return true;
}

absl::Status ParserBase::Unexpected(std::string_view expected) const {
  return Error(fmt::format("expected {}, got {}", expected, Describe(current())));
}

absl::Status ParserBase::ExpectOperator(std::string_view spelling) {
  return SkipOperator(spelling) ? absl::OkStatus() : Unexpected(fmt::format("'{}'", spelling));
}

absl::Status ParserBase::ExpectName(std::string_view name) {
  return SkipName(name) ? absl::OkStatus() : Unexpected(fmt::format("'{}'", name));
}

absl::Status ParserBase::Expect(TokenType type) {
  if (current().type != type) return Unexpected(Describe(Token{.type = type}));
  Take();
  return absl::OkStatus();
}

absl::StatusOr<Token> ParserBase::ExpectAnyName() {
  if (current().type != TokenType::kName) return Unexpected("a name");
  return Take();
}

Symbol ParserBase::SymbolOf(const std::string& name) {
  const auto [found, is_new] = symbol_of_.try_emplace(name, static_cast<Symbol>(symbols_.size()));
  if (is_new) symbols_.push_back(name);
  return found->second;
}

}  // namespace inferd::chat_template
