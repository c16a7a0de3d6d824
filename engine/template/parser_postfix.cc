// What may stand behind a value: subscripts, attributes, calls, filters and tests.
#include "engine/template/filters.h"
#include "engine/template/parser_base.h"
#include "engine/template/tests.h"

namespace inferd::chat_template {
namespace {

ExpressionPtr New(ExpressionKind kind, Position position, ExpressionPtr operand) {
  auto expression = std::make_unique<Expression>(Expression{.kind = kind, .position = position});
  expression->operands.push_back(std::move(operand));
  return expression;
}

}  // namespace

absl::StatusOr<ExpressionPtr> ExpressionParser::ParsePostfix(ExpressionPtr value) {
  while (true) {
    if (current().IsOperator(".") || current().IsOperator("[")) {
      ASSIGN_OR_RETURN(value, ParseSubscript(std::move(value)));
    } else if (current().IsOperator("(")) {
      ASSIGN_OR_RETURN(value, ParseCall(std::move(value)));
    } else {
      return value;
    }
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseFiltersAndTests(ExpressionPtr value) {
  while (true) {
    if (current().IsOperator("|")) {
      ASSIGN_OR_RETURN(value, ParseFilters(std::move(value), false));
    } else if (current().IsName("is")) {
      ASSIGN_OR_RETURN(value, ParseTest(std::move(value)));
    } else if (current().IsOperator("(")) {
      ASSIGN_OR_RETURN(value, ParseCall(std::move(value)));
    } else {
      return value;
    }
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseSubscript(ExpressionPtr value) {
  const Token open = Take();
  if (open.text == ".") {
    const Token member = Take();
    if (member.type == TokenType::kName) {
      ExpressionPtr attribute = New(ExpressionKind::kAttribute, member.position, std::move(value));
      attribute->name = member.text;
      return Finish(std::move(attribute));
    }
    if (member.type != TokenType::kInteger) return ErrorAt(member.position, "expected a name or a number after '.'");
    ExpressionPtr index =
        std::make_unique<Expression>(Expression{.kind = ExpressionKind::kConstant, .position = member.position});
    index->constant = Value::Integer(member.integer);
    ExpressionPtr item = New(ExpressionKind::kItem, open.position, std::move(value));
    item->operands.push_back(std::move(index));
    return Finish(std::move(item));
  }
  ExpressionPtr item = New(ExpressionKind::kItem, open.position, std::move(value));
  ExpressionPtr several =
      std::make_unique<Expression>(Expression{.kind = ExpressionKind::kTuple, .position = open.position});
  while (!current().IsOperator("]")) {
    if (!several->operands.empty()) RETURN_IF_ERROR(ExpectOperator(","));
    ASSIGN_OR_RETURN(ExpressionPtr index, ParseIndex());
    several->operands.push_back(std::move(index));
  }
  RETURN_IF_ERROR(ExpectOperator("]"));
  if (several->operands.size() == 1) {
    item->operands.push_back(std::move(several->operands.front()));
    return Finish(std::move(item));
  }
  for (const ExpressionPtr& index : several->operands) {
    if (index->kind == ExpressionKind::kSlice) return ErrorAt(index->position, "a slice must stand alone");
  }
  ASSIGN_OR_RETURN(several, Finish(std::move(several)));
  item->operands.push_back(std::move(several));
  return Finish(std::move(item));
}

// An index or a slice: begin:end:step, each may be left out.
absl::StatusOr<ExpressionPtr> ExpressionParser::ParseIndex() {
  const Position position = current().position;
  const auto at_end = [this] { return current().IsOperator("]") || current().IsOperator(","); };
  std::vector<ExpressionPtr> parts(1);
  if (!current().IsOperator(":")) {
    ASSIGN_OR_RETURN(parts[0], ParseExpression());
    if (!current().IsOperator(":")) return std::move(parts[0]);
  }
  while (parts.size() < 3) {
    ExpressionPtr part;
    if (SkipOperator(":") && !at_end() && !current().IsOperator(":")) {
      ASSIGN_OR_RETURN(part, ParseExpression());
    }
    parts.push_back(std::move(part));
  }
  auto slice = std::make_unique<Expression>(Expression{.kind = ExpressionKind::kSlice, .position = position});
  slice->operands = std::move(parts);
  return Finish(std::move(slice));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseCall(ExpressionPtr value) {
  ExpressionPtr call = New(ExpressionKind::kCall, current().position, std::move(value));
  ASSIGN_OR_RETURN(call->call, ParseCallArguments());
  return Finish(std::move(call));
}

absl::StatusOr<std::unique_ptr<CallArguments>> ExpressionParser::ParseCallArguments() {
  auto arguments = std::make_unique<CallArguments>();
  const Token open = current();
  RETURN_IF_ERROR(ExpectOperator("("));
  bool first = true;
  while (!current().IsOperator(")")) {
    if (!first) {
      RETURN_IF_ERROR(ExpectOperator(","));
      if (current().IsOperator(")")) break;
    }
    first = false;
    RETURN_IF_ERROR(ParseCallArgument(*arguments, open));
  }
  RETURN_IF_ERROR(ExpectOperator(")"));
  return arguments;
}

absl::Status ExpressionParser::ParseCallArgument(CallArguments& arguments, const Token& open) {
  const auto invalid = [&] { return ErrorAt(open.position, "invalid order of arguments in the call"); };
  if (SkipOperator("*")) {
    if (arguments.more_positional != nullptr || arguments.more_named != nullptr) return invalid();
    ASSIGN_OR_RETURN(arguments.more_positional, ParseExpression());
  } else if (SkipOperator("**")) {
    if (arguments.more_named != nullptr) return invalid();
    ASSIGN_OR_RETURN(arguments.more_named, ParseExpression());
  } else if (current().type == TokenType::kName && next().IsOperator("=")) {
    if (arguments.more_named != nullptr) return invalid();
    const Token name = Take();
    Take();
    for (const auto& [other, value] : arguments.named) {
      if (other == name.text) return ErrorAt(name.position, fmt::format("argument '{}' is given twice", other));
    }
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    arguments.named.emplace_back(name.text, std::move(value));
  } else {
    if (arguments.more_positional != nullptr || arguments.more_named != nullptr || !arguments.named.empty()) {
      return invalid();
    }
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    arguments.positional.push_back(std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ExpressionParser::ParseDottedName() {
  ASSIGN_OR_RETURN(const Token first, ExpectAnyName());
  std::string name = first.text;
  while (SkipOperator(".")) {
    ASSIGN_OR_RETURN(const Token part, ExpectAnyName());
    name += "." + part.text;
  }
  return name;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseFilters(ExpressionPtr value, bool without_pipe) {
  while (without_pipe || SkipOperator("|")) {
    without_pipe = false;
    ExpressionPtr filter = New(ExpressionKind::kFilter, current().position, std::move(value));
    ASSIGN_OR_RETURN(filter->name, ParseDottedName());
    filter->builtin = FindFilter(filter->name);
    if (filter->builtin == nullptr && !lenient_) {
      unknown_.push_back(ErrorAt(filter->position, fmt::format("no filter named '{}'", filter->name)));
    }
    if (current().IsOperator("(")) {
      ASSIGN_OR_RETURN(filter->call, ParseCallArguments());
    }
    ASSIGN_OR_RETURN(value, Finish(std::move(filter)));
  }
  return value;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseTest(ExpressionPtr value) {
  Take();  // is
  const bool negated = SkipName("not");
  ExpressionPtr test = New(ExpressionKind::kTest, current().position, std::move(value));
  ASSIGN_OR_RETURN(test->name, ParseDottedName());
  test->builtin = FindTest(test->name);
  if (test->builtin == nullptr && !lenient_) {
    unknown_.push_back(ErrorAt(test->position, fmt::format("no test named '{}'", test->name)));
  }
  const Token& token = current();
  const bool is_word =
      token.type == TokenType::kName && !token.IsName("else") && !token.IsName("or") && !token.IsName("and");
  if (token.IsOperator("(")) {
    ASSIGN_OR_RETURN(test->call, ParseCallArguments());
  } else if (is_word || token.type == TokenType::kString || token.type == TokenType::kInteger ||
             token.type == TokenType::kFloat || token.IsOperator("[") || token.IsOperator("{")) {
    if (token.IsName("is")) return Error("tests with 'is' cannot be chained");
    ASSIGN_OR_RETURN(ExpressionPtr argument, ParsePrimary(false));
    ASSIGN_OR_RETURN(argument, ParsePostfix(std::move(argument)));
    test->call = std::make_unique<CallArguments>();
    test->call->positional.push_back(std::move(argument));
  }
  ASSIGN_OR_RETURN(test, Finish(std::move(test)));
  if (!negated) return test;
  const Position position = test->position;
  return Finish(New(ExpressionKind::kNot, position, std::move(test)));
}

}  // namespace inferd::chat_template
