// The grammar of expressions, weakest binding first: conditional, or, and, not, comparison, + -, ~, * / // %, **,
// unary, then subscripts, calls, filters and tests behind a value.
#include <algorithm>
#include <array>
#include <optional>

#include "engine/template/filters.h"
#include "engine/template/parser_base.h"
#include "engine/template/tests.h"

namespace inferd::chat_template {
namespace {

ExpressionPtr New(ExpressionKind kind, Position position) {
  return std::make_unique<Expression>(Expression{.kind = kind, .position = position});
}

std::optional<Operator> ComparisonOf(const Token& token) {
  if (token.type != TokenType::kOperator) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, Operator>, 6> kComparisons = {{{"==", Operator::kEqual},
                                                                                  {"!=", Operator::kNotEqual},
                                                                                  {"<", Operator::kLess},
                                                                                  {"<=", Operator::kLessOrEqual},
                                                                                  {">", Operator::kGreater},
                                                                                  {">=", Operator::kGreaterOrEqual}}};
  for (const auto& [spelling, comparison] : kComparisons) {
    if (token.text == spelling) return comparison;
  }
  return std::nullopt;
}

struct ArithmeticOperator {
  std::string_view spelling;
  int precedence;
  Operator meaning;
};
constexpr int kConcatPrecedence = 1;
constexpr int kUnaryPrecedence = 4;
constexpr std::array<ArithmeticOperator, 7> kArithmetic = {{{"+", 0, Operator::kAdd},
                                                            {"-", 0, Operator::kSubtract},
                                                            {"*", 2, Operator::kMultiply},
                                                            {"/", 2, Operator::kDivide},
                                                            {"//", 2, Operator::kFloorDivide},
                                                            {"%", 2, Operator::kModulo},
                                                            {"**", 3, Operator::kPower}}};

const ArithmeticOperator* ArithmeticOf(const Token& token, int precedence) {
  if (token.type != TokenType::kOperator) return nullptr;
  for (const ArithmeticOperator& row : kArithmetic) {
    if (row.precedence == precedence && token.text == row.spelling) return &row;
  }
  return nullptr;
}

uint32_t HeightOf(const ExpressionPtr& expression) { return expression == nullptr ? 0 : expression->height; }

}  // namespace

absl::StatusOr<ExpressionPtr> ExpressionParser::Finish(ExpressionPtr expression) const {
  uint32_t height = 0;
  for (const ExpressionPtr& operand : expression->operands) height = std::max(height, HeightOf(operand));
  if (const CallArguments* call = expression->call.get()) {
    for (const ExpressionPtr& argument : call->positional) height = std::max(height, HeightOf(argument));
    for (const auto& [name, argument] : call->named) height = std::max(height, HeightOf(argument));
    height = std::max({height, HeightOf(call->more_positional), HeightOf(call->more_named)});
  }
  expression->height = height + 1;
  if (expression->height > kMaxExpressionHeight) {
    return ErrorAt(expression->position,
                   fmt::format("the expression is nested more than {} deep", kMaxExpressionHeight));
  }
  return expression;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseExpression(bool with_condition) {
  if (nesting_ >= kMaxExpressionHeight) {
    return Error(fmt::format("the expression is nested more than {} deep", kMaxExpressionHeight));
  }
  ++nesting_;
  absl::StatusOr<ExpressionPtr> expression = with_condition ? ParseConditional() : ParseBinary(0);
  --nesting_;
  return expression;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseConditional() {
  const size_t unknown_before = unknown_.size();
  ASSIGN_OR_RETURN(ExpressionPtr value, ParseBinary(0));
  while (current().IsName("if")) {
    ExpressionPtr conditional = New(ExpressionKind::kConditional, Take().position);
    ASSIGN_OR_RETURN(ExpressionPtr condition, ParseBinary(0));
    ExpressionPtr otherwise;
    if (SkipName("else")) {
      ASSIGN_OR_RETURN(otherwise, ParseExpression());
    }
    conditional->operands.push_back(std::move(condition));
    conditional->operands.push_back(std::move(value));
    conditional->operands.push_back(std::move(otherwise));
    ASSIGN_OR_RETURN(value, Finish(std::move(conditional)));
    unknown_.resize(unknown_before);
  }
  return value;
}

// Precedence 0: or, 1: and.
absl::StatusOr<ExpressionPtr> ExpressionParser::ParseBinary(int precedence) {
  const bool is_or = precedence == 0;
  const auto operand = [&] { return is_or ? ParseBinary(1) : ParseNot(); };
  ASSIGN_OR_RETURN(ExpressionPtr left, operand());
  while (current().IsName(is_or ? "or" : "and")) {
    ExpressionPtr both = New(is_or ? ExpressionKind::kOr : ExpressionKind::kAnd, Take().position);
    ASSIGN_OR_RETURN(ExpressionPtr right, operand());
    both->operands.push_back(std::move(left));
    both->operands.push_back(std::move(right));
    ASSIGN_OR_RETURN(left, Finish(std::move(both)));
  }
  return left;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseNot() {
  std::vector<Position> negations;
  while (current().IsName("not")) {
    if (negations.size() >= kMaxExpressionHeight) return Error("too many 'not'");
    negations.push_back(Take().position);
  }
  ASSIGN_OR_RETURN(ExpressionPtr value, ParseCompare());
  for (; !negations.empty(); negations.pop_back()) {
    ExpressionPtr negation = New(ExpressionKind::kNot, negations.back());
    negation->operands.push_back(std::move(value));
    ASSIGN_OR_RETURN(value, Finish(std::move(negation)));
  }
  return value;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseCompare() {
  ASSIGN_OR_RETURN(ExpressionPtr first, ParseArithmetic(0));
  ExpressionPtr compare = New(ExpressionKind::kCompare, current().position);
  compare->operands.push_back(std::move(first));
  while (true) {
    if (const std::optional<Operator> comparison = ComparisonOf(current())) {
      Take();
      compare->operators.push_back(*comparison);
    } else if (SkipName("in")) {
      compare->operators.push_back(Operator::kIn);
    } else if (current().IsName("not") && next().IsName("in")) {
      Take();
      Take();
      compare->operators.push_back(Operator::kNotIn);
    } else {
      break;
    }
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseArithmetic(0));
    compare->operands.push_back(std::move(operand));
  }
  if (compare->operators.empty()) return std::move(compare->operands.front());
  return Finish(std::move(compare));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseArithmetic(int precedence) {
  if (precedence == kUnaryPrecedence) return ParseUnary(true);
  ASSIGN_OR_RETURN(ExpressionPtr left, ParseArithmetic(precedence + 1));
  if (precedence == kConcatPrecedence) {
    if (!current().IsOperator("~")) return left;
    ExpressionPtr concat = New(ExpressionKind::kConcat, current().position);
    concat->operands.push_back(std::move(left));
    while (SkipOperator("~")) {
      ASSIGN_OR_RETURN(ExpressionPtr part, ParseArithmetic(precedence + 1));
      concat->operands.push_back(std::move(part));
    }
    return Finish(std::move(concat));
  }
  while (const ArithmeticOperator* found = ArithmeticOf(current(), precedence)) {
    ExpressionPtr both = New(ExpressionKind::kArithmetic, Take().position);
    both->operators.push_back(found->meaning);
    ASSIGN_OR_RETURN(ExpressionPtr right, ParseArithmetic(precedence + 1));
    both->operands.push_back(std::move(left));
    both->operands.push_back(std::move(right));
    ASSIGN_OR_RETURN(left, Finish(std::move(both)));
  }
  return left;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseUnary(bool with_filters) {
  ExpressionPtr value;
  if (current().IsOperator("-") || current().IsOperator("+")) {
    if (nesting_ >= kMaxExpressionHeight) return Error("too many signs");
    const Token sign = Take();
    value = New(sign.text == "-" ? ExpressionKind::kNegative : ExpressionKind::kPositive, sign.position);
    ++nesting_;
    absl::StatusOr<ExpressionPtr> operand = ParseUnary(false);
    --nesting_;
    RETURN_IF_ERROR(operand.status());
    value->operands.push_back(*std::move(operand));
    ASSIGN_OR_RETURN(value, Finish(std::move(value)));
  } else {
    ASSIGN_OR_RETURN(value, ParsePrimary(false));
  }
  ASSIGN_OR_RETURN(value, ParsePostfix(std::move(value)));
  if (with_filters) return ParseFiltersAndTests(std::move(value));
  return value;
}

void ExpressionParser::NoteUse(Symbol symbol) {
  Usage& usage = usages_.back();
  usage.loop = usage.loop || symbol == kLoopSymbol;
  usage.caller = usage.caller || symbol == kCallerSymbol;
  usage.varargs = usage.varargs || symbol == kVarargsSymbol;
  usage.kwargs = usage.kwargs || symbol == kKwargsSymbol;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParsePrimary(bool with_member) {
  const Token token = current();
  if (token.IsOperator("(") || token.IsOperator("[")) return ParseBracketed();
  if (token.IsOperator("{")) return ParseDict();
  ExpressionPtr value = New(ExpressionKind::kConstant, token.position);
  switch (token.type) {
    case TokenType::kName:
      Take();
      if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
        value->constant = Value::Bool(token.text == "true" || token.text == "True");
      } else if (token.text == "none" || token.text == "None") {
        value->constant = Value::None();
      } else {
        value->kind = ExpressionKind::kName;
        value->name = token.text;
        value->symbol = SymbolOf(token.text);
        if (with_member && SkipOperator(".")) {
          value->kind = ExpressionKind::kMember;
          ASSIGN_OR_RETURN(const Token member, ExpectAnyName());
          value->name = member.text;
        }
        NoteUse(value->symbol);
      }
      return value;
    case TokenType::kString: {
      std::string text;
      while (current().type == TokenType::kString) text += Take().text;
      value->constant = Value::Constant(chat_template::Text(std::move(text), true));
      return value;
    }
    case TokenType::kInteger:
      value->constant = Value::Integer(Take().integer);
      return value;
    case TokenType::kFloat:
      value->constant = Value::Float(Take().real);
      return value;
    default:
      return Unexpected("an expression");
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseBracketed() {
  const Token open = Take();
  if (open.text == "(") {
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseTuple(true, "", true));
    RETURN_IF_ERROR(ExpectOperator(")"));
    return value;
  }
  ExpressionPtr list = New(ExpressionKind::kList, open.position);
  while (!current().IsOperator("]")) {
    if (!list->operands.empty()) RETURN_IF_ERROR(ExpectOperator(","));
    if (current().IsOperator("]")) break;
    ASSIGN_OR_RETURN(ExpressionPtr item, ParseExpression());
    list->operands.push_back(std::move(item));
  }
  RETURN_IF_ERROR(ExpectOperator("]"));
  return Finish(std::move(list));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseDict() {
  ExpressionPtr dict = New(ExpressionKind::kDict, Take().position);
  while (!current().IsOperator("}")) {
    if (!dict->operands.empty()) RETURN_IF_ERROR(ExpectOperator(","));
    if (current().IsOperator("}")) break;
    ASSIGN_OR_RETURN(ExpressionPtr key, ParseExpression());
    RETURN_IF_ERROR(ExpectOperator(":"));
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    dict->operands.push_back(std::move(key));
    dict->operands.push_back(std::move(value));
  }
  RETURN_IF_ERROR(ExpectOperator("}"));
  return Finish(std::move(dict));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseTuple(bool with_condition, std::string_view end_name,
                                                           bool parenthesized) {
  const Position position = current().position;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    if (is_tuple) RETURN_IF_ERROR(ExpectOperator(","));
    if (current().type == TokenType::kVariableEnd || current().type == TokenType::kBlockEnd ||
        current().IsOperator(")") || (!end_name.empty() && current().IsName(end_name))) {
      break;
    }
    ASSIGN_OR_RETURN(ExpressionPtr item, ParseExpression(with_condition));
    items.push_back(std::move(item));
    if (!current().IsOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (items.empty() && !parenthesized) return Unexpected("an expression");
  ExpressionPtr tuple = New(ExpressionKind::kTuple, position);
  tuple->operands = std::move(items);
  return Finish(std::move(tuple));
}

absl::Status ExpressionParser::CheckTarget(const Expression& target) const {
  if (target.kind == ExpressionKind::kName || target.kind == ExpressionKind::kMember) return absl::OkStatus();
  if (target.kind != ExpressionKind::kTuple) return ErrorAt(target.position, "cannot assign to this expression");
  for (const ExpressionPtr& item : target.operands) RETURN_IF_ERROR(CheckTarget(*item));
  return absl::OkStatus();
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseTarget(std::string_view end_name, bool with_member) {
  ExpressionPtr tuple = New(ExpressionKind::kTuple, current().position);
  bool is_tuple = false;
  while (true) {
    if (is_tuple) RETURN_IF_ERROR(ExpectOperator(","));
    if (current().type == TokenType::kBlockEnd || current().IsOperator(")") || current().IsOperator("=") ||
        (!end_name.empty() && current().IsName(end_name))) {
      break;
    }
    ASSIGN_OR_RETURN(ExpressionPtr item, ParsePrimary(with_member));
    RETURN_IF_ERROR(CheckTarget(*item));
    tuple->operands.push_back(std::move(item));
    if (!current().IsOperator(",")) break;
    is_tuple = true;
  }
  if (tuple->operands.empty()) return Unexpected("a name to assign to");
  if (!is_tuple) return std::move(tuple->operands.front());
  return Finish(std::move(tuple));
}

}  // namespace inferd::chat_template
