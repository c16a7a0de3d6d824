// What the two halves of the parser share: the tokens, the names, the limits. Private to parser*.cc.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "engine/template/ast.h"
#include "engine/template/parser.h"

namespace inferd::chat_template {

// How deep expressions may nest (parentheses, operands of operands) and blocks in blocks.
inline constexpr uint32_t kMaxExpressionHeight = 200;
inline constexpr uint32_t kMaxBlockDepth = 100;

class ParserBase {
 protected:
  explicit ParserBase(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token Take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool SkipOperator(std::string_view spelling);
  bool SkipName(std::string_view name);
  absl::Status ExpectOperator(std::string_view spelling);
  absl::Status ExpectName(std::string_view name);
  absl::Status Expect(TokenType type);
  absl::StatusOr<Token> ExpectAnyName();
  absl::Status Error(std::string_view message) const { return ErrorAt(current().position, message); }
  absl::Status Unexpected(std::string_view expected) const;

  Symbol SymbolOf(const std::string& name);

  std::vector<std::string> symbols_;

 private:
  std::vector<Token> tokens_;  // ends with kEnd
  size_t at_ = 0;
  std::unordered_map<std::string, Symbol> symbol_of_;
};

class ExpressionParser : public ParserBase {
 protected:
  using ParserBase::ParserBase;

  // `with_condition`: "a if b else c" is taken as well.
  absl::StatusOr<ExpressionPtr> ParseExpression(bool with_condition = true);
  // Several expressions with commas make a tuple. `end_name` ends it, beside the ends of tags and brackets.
  absl::StatusOr<ExpressionPtr> ParseTuple(bool with_condition = true, std::string_view end_name = "",
                                           bool parenthesized = false);
  // Something that can be assigned to: a name, a tuple of targets, with_member: also namespace.name.
  absl::StatusOr<ExpressionPtr> ParseTarget(std::string_view end_name, bool with_member);
  absl::StatusOr<ExpressionPtr> ParseFilters(ExpressionPtr value, bool without_pipe);

  // The statements that `loop` and `caller` belong to, so that those who use them can be told.
  struct Usage {
    bool loop = false;
    bool caller = false;
    bool varargs = false;
    bool kwargs = false;
  };
  std::vector<Usage> usages_{1};
  void NoteUse(Symbol symbol);
  // Unknown filters and tests are errors of the template, but in a branch that may never run they are errors only when
  // they are reached: whoever parsed such a branch drops what was noted in it.
  std::vector<absl::Status> unknown_;
  bool lenient_ = false;  // in the branches of an if statement

 private:
  absl::StatusOr<ExpressionPtr> ParseConditional();
  absl::StatusOr<ExpressionPtr> ParseBinary(int precedence);
  absl::StatusOr<ExpressionPtr> ParseNot();
  absl::StatusOr<ExpressionPtr> ParseCompare();
  absl::StatusOr<ExpressionPtr> ParseArithmetic(int precedence);
  absl::StatusOr<ExpressionPtr> ParseUnary(bool with_filters);
  absl::StatusOr<ExpressionPtr> ParsePrimary(bool with_member);
  absl::StatusOr<ExpressionPtr> ParseBracketed();
  absl::StatusOr<ExpressionPtr> ParseDict();
  absl::StatusOr<ExpressionPtr> ParsePostfix(ExpressionPtr value);
  absl::StatusOr<ExpressionPtr> ParseFiltersAndTests(ExpressionPtr value);
  absl::StatusOr<ExpressionPtr> ParseSubscript(ExpressionPtr value);
  absl::StatusOr<ExpressionPtr> ParseIndex();
  absl::StatusOr<ExpressionPtr> ParseCall(ExpressionPtr value);
  absl::StatusOr<std::unique_ptr<CallArguments>> ParseCallArguments();
  absl::Status ParseCallArgument(CallArguments& arguments, const Token& open);
  absl::StatusOr<ExpressionPtr> ParseTest(ExpressionPtr value);
  absl::StatusOr<std::string> ParseDottedName();
  absl::Status CheckTarget(const Expression& target) const;
  // Computes the height; fails beyond the limit.
  absl::StatusOr<ExpressionPtr> Finish(ExpressionPtr expression) const;

  uint32_t nesting_ = 0;
};

}  // namespace inferd::chat_template
