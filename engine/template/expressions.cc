// The interpreter's expressions: one function for each kind.
#include <boost/json.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/globals.h"
#include "engine/template/interpreter.h"
#include "engine/template/json.h"
#include "engine/template/macro.h"
#include "engine/template/methods.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"

namespace inferd::chat_template {

absl::StatusOr<Value> Interpreter::Evaluate(const Expression& expression, Scope& scope) {
  if (expression.kind == ExpressionKind::kConstant) return expression.constant;
  const Heap::Level level(heap_);
  RETURN_IF_ERROR(level.Check());
  absl::StatusOr<Value> value = EvaluateKind(expression, scope);
  if (!value.ok()) return Located(expression.position, value.status());
  if (absl::Status within = heap_.Step(); !within.ok()) return Located(expression.position, within);
  return value;
}

absl::StatusOr<Value> Interpreter::EvaluateKind(const Expression& expression, Scope& scope) {
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName:
      return Lookup(expression, scope);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
      return EvaluateItems(expression, scope);
    case ExpressionKind::kDict:
      return EvaluateDict(expression, scope);
    case ExpressionKind::kAttribute:
      return EvaluateAttribute(expression, scope);
    case ExpressionKind::kItem:
      return EvaluateItem(expression, scope);
    case ExpressionKind::kCall:
      return EvaluateCall(expression, scope);
    case ExpressionKind::kFilter:
      return EvaluateFilter(expression, scope);
    case ExpressionKind::kTest:
      return EvaluateTest(expression, scope);
    case ExpressionKind::kNot:
    case ExpressionKind::kNegative:
    case ExpressionKind::kPositive:
      return EvaluateUnary(expression, scope);
    case ExpressionKind::kArithmetic:
      return EvaluateArithmetic(expression, scope);
    case ExpressionKind::kConcat:
      return EvaluateConcat(expression, scope);
    case ExpressionKind::kCompare:
      return EvaluateCompare(expression, scope);
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
      return EvaluateLogic(expression, scope);
    case ExpressionKind::kConditional:
      return EvaluateConditional(expression, scope);
    case ExpressionKind::kSlice:
    case ExpressionKind::kMember:
      break;
  }
  return Internal("an expression that has no value of its own");
}

absl::StatusOr<Value> Interpreter::Lookup(const Expression& name, const Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->parent()) {
    if (const Value* value = at->Find(name.symbol)) return *value;
  }
  if (!looked_up_[name.symbol]) {
    looked_up_[name.symbol] = true;
    ASSIGN_OR_RETURN(context_[name.symbol], FromContext(name.symbol));
  }
  if (const std::optional<Value>& value = context_[name.symbol]) return *value;
  return heap_.Undefined(fmt::format("'{}' is undefined", name.name));
}

// A variable that the template did not set: the request's, the model's, or one of the language.
absl::StatusOr<std::optional<Value>> Interpreter::FromContext(Symbol symbol) {
  const std::string& name = tree_.symbols[symbol];
  if (const boost::json::value* found = request_.if_contains(name)) {
    ASSIGN_OR_RETURN(Value value, FromJson(heap_, *found, /*trusted=*/false));
    return std::optional<Value>(std::move(value));
  }
  if (const boost::json::value* found = model_.if_contains(name)) {
    ASSIGN_OR_RETURN(Value value, FromJson(heap_, *found, /*trusted=*/true));
    return std::optional<Value>(std::move(value));
  }
  if (symbol == kSelfSymbol) return std::optional<Value>(heap_.OfObject(std::make_shared<Blocks>(*this)));
  return FindGlobal(heap_, name, now_);
}

absl::StatusOr<Value> Interpreter::EvaluateItems(const Expression& expression, Scope& scope) {
  std::vector<Value> items;
  items.reserve(expression.operands.size());
  for (const ExpressionPtr& operand : expression.operands) {
    ASSIGN_OR_RETURN(Value item, Evaluate(*operand, scope));
    items.push_back(std::move(item));
  }
  return expression.kind == ExpressionKind::kList ? heap_.List(std::move(items)) : heap_.Tuple(std::move(items));
}

absl::StatusOr<Value> Interpreter::EvaluateDict(const Expression& expression, Scope& scope) {
  Dict dict;
  for (size_t i = 0; i + 1 < expression.operands.size(); i += 2) {
    ASSIGN_OR_RETURN(Value key, Evaluate(*expression.operands[i], scope));
    ASSIGN_OR_RETURN(Value value, Evaluate(*expression.operands[i + 1], scope));
    RETURN_IF_ERROR(dict.Set(heap_, std::move(key), std::move(value)));
  }
  return heap_.OfDict(std::move(dict));
}

absl::StatusOr<Value> Interpreter::EvaluateAttribute(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], scope));
  return GetAttribute(heap_, value, expression.name);
}

absl::StatusOr<Value> Interpreter::EvaluateItem(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], scope));
  const Expression& key = *expression.operands[1];
  if (key.kind != ExpressionKind::kSlice) {
    ASSIGN_OR_RETURN(const Value index, Evaluate(key, scope));
    return GetItem(heap_, value, index);
  }
  Value bounds[3] = {Value::None(), Value::None(), Value::None()};
  for (size_t i = 0; i < 3; ++i) {
    if (key.operands[i] == nullptr) continue;
    ASSIGN_OR_RETURN(bounds[i], Evaluate(*key.operands[i], scope));
  }
  return GetSlice(heap_, value, bounds[0], bounds[1], bounds[2]);
}

absl::StatusOr<Arguments> Interpreter::EvaluateArguments(const CallArguments* call, Scope& scope) {
  Arguments arguments;
  if (call == nullptr) return arguments;
  for (const ExpressionPtr& expression : call->positional) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*expression, scope));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, expression] : call->named) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*expression, scope));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (call->more_positional != nullptr) {
    ASSIGN_OR_RETURN(const Value more, Evaluate(*call->more_positional, scope));
    ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> items, Iterate(heap_, more));
    RETURN_IF_ERROR(heap_.CheckElements(items->items.size()));
    arguments.positional.insert(arguments.positional.end(), items->items.begin(), items->items.end());
  }
  if (call->more_named != nullptr) {
    ASSIGN_OR_RETURN(const Value more, Evaluate(*call->more_named, scope));
    if (!more.is_dict()) return InvalidArgument("argument after ** must be a mapping, not {}", more.TypeName());
    RETURN_IF_ERROR(heap_.CheckElements(more.dict().size()));
    for (const auto& [key, value] : more.dict().entries()) {
      if (!key.is_string()) return InvalidArgument("keywords must be strings");
      arguments.named.emplace_back(key.bytes(), value);
    }
  }
  return arguments;
}

// `caller`: what a call block passes beside the arguments.
absl::StatusOr<Value> Interpreter::EvaluateCall(const Expression& expression, Scope& scope, const Value* caller) {
  const Expression& callee = *expression.operands[0];
  Value function;
  if (callee.kind == ExpressionKind::kAttribute) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*callee.operands[0], scope));
    if (const Builtin* method = FindMethod(value.kind(), callee.name)) {  // without making an object of it
      ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expression.call.get(), scope));
      if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
      return CallBuiltin(heap_, *method, value, arguments);
    }
    ASSIGN_OR_RETURN(function, GetAttribute(heap_, value, callee.name));
  } else {
    ASSIGN_OR_RETURN(function, Evaluate(callee, scope));
  }
  ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expression.call.get(), scope));
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  if (function.is_undefined()) return UndefinedError(function);
  if (!function.is_object()) return InvalidArgument("'{}' object is not callable", function.TypeName());
  return function.object().Call(heap_, arguments);
}

absl::StatusOr<Value> Interpreter::EvaluateFilter(const Expression& expression, Scope& scope) {
  Value value = block_text_;
  if (expression.operands[0] != nullptr) {
    ASSIGN_OR_RETURN(value, Evaluate(*expression.operands[0], scope));
  }
  if (expression.builtin == nullptr) return InvalidArgument("no filter named '{}'", expression.name);
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(expression.call.get(), scope));
  return CallBuiltin(heap_, *expression.builtin, value, arguments);
}

absl::StatusOr<Value> Interpreter::EvaluateTest(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], scope));
  if (expression.builtin == nullptr) return InvalidArgument("no test named '{}'", expression.name);
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(expression.call.get(), scope));
  return CallBuiltin(heap_, *expression.builtin, value, arguments);
}

absl::StatusOr<Value> Interpreter::EvaluateUnary(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], scope));
  if (expression.kind == ExpressionKind::kNot) return Value::Bool(!IsTrue(value));
  if (expression.kind == ExpressionKind::kNegative) return Negate(value);
  if (value.is_undefined()) return UndefinedError(value);
  if (value.is_float()) return value;
  if (!value.is_whole()) return InvalidArgument("bad operand type for unary +: '{}'", value.TypeName());
  return Value::Integer(value.integer());
}

absl::StatusOr<Value> Interpreter::EvaluateArithmetic(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(const Value left, Evaluate(*expression.operands[0], scope));
  ASSIGN_OR_RETURN(const Value right, Evaluate(*expression.operands[1], scope));
  return Calculate(heap_, expression.operators[0], left, right);
}

absl::StatusOr<Value> Interpreter::EvaluateConcat(const Expression& expression, Scope& scope) {
  Text text;
  for (const ExpressionPtr& operand : expression.operands) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*operand, scope));
    RETURN_IF_ERROR(AppendString(heap_, value, text));
  }
  return heap_.String(std::move(text));
}

absl::StatusOr<Value> Interpreter::EvaluateCompare(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], scope));
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    ASSIGN_OR_RETURN(Value right, Evaluate(*expression.operands[i + 1], scope));
    ASSIGN_OR_RETURN(const bool holds, Compare(heap_, expression.operators[i], left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

absl::StatusOr<Value> Interpreter::EvaluateLogic(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], scope));
  if (IsTrue(left) == (expression.kind == ExpressionKind::kOr)) return left;
  return Evaluate(*expression.operands[1], scope);
}

absl::StatusOr<Value> Interpreter::EvaluateConditional(const Expression& expression, Scope& scope) {
  ASSIGN_OR_RETURN(const Value condition, Evaluate(*expression.operands[0], scope));
  if (IsTrue(condition)) return Evaluate(*expression.operands[1], scope);
  if (expression.operands[2] != nullptr) return Evaluate(*expression.operands[2], scope);
  return heap_.Undefined("the inline if-expression evaluated to false and no else section was defined");
}

}  // namespace inferd::chat_template
