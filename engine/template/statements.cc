// The interpreter's statements: a table of contents, then one function each.
#include <utility>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/interpreter.h"
#include "engine/template/macro.h"
#include "engine/template/objects.h"
#include "engine/template/print.h"

namespace inferd::chat_template {

Interpreter::Interpreter(const SyntaxTree& tree, const Limits& limits, const boost::json::object& request,
                         const boost::json::object& model, const std::tm& now)
    : tree_(tree),
      request_(request),
      model_(model),
      now_(now),
      heap_(limits),
      scopes_(heap_),
      looked_up_(tree.symbols.size()),
      context_(tree.symbols.size()) {}

absl::StatusOr<Text> Interpreter::Run() {
  Text out;
  RETURN_IF_ERROR(RunBody(tree_.body, scopes_.root(), out).status());
  return out;
}

absl::Status Interpreter::Located(Position position, const absl::Status& status) {
  if (located_) return status;
  located_ = true;
  return absl::Status(status.code(), ErrorAt(position, MessageOf(status)).message());
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunBody(const Body& body, Scope& scope, Text& out) {
  for (const auto& statement : body) {
    absl::StatusOr<Flow> flow = RunStatement(*statement, scope, out);
    if (!flow.ok()) return Located(statement->position, flow.status());
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunInner(const Body& body, Scope& parent, Text& out) {
  Scope& scope = scopes_.Enter(parent);
  absl::StatusOr<Flow> flow = RunBody(body, scope, out);
  scopes_.Leave(scope);
  return flow;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunStatement(const Statement& statement, Scope& scope, Text& out) {
  RETURN_IF_ERROR(heap_.Step());
  const Heap::Level level(heap_);
  RETURN_IF_ERROR(level.Check());
  switch (statement.kind) {
    case StatementKind::kText:
      RETURN_IF_ERROR(AppendString(heap_, statement.text, out));
      return Flow::kNext;
    case StatementKind::kPrint:
      RETURN_IF_ERROR(RunPrint(statement, scope, out));
      return Flow::kNext;
    case StatementKind::kIf:
      return RunIf(statement, scope, out);
    case StatementKind::kFor: {
      ASSIGN_OR_RETURN(const Value iterable, Evaluate(*statement.expressions[0], scope));
      return RunLoop(statement, scope, iterable, 0, out);
    }
    case StatementKind::kSet:
      RETURN_IF_ERROR(RunSet(statement, scope));
      return Flow::kNext;
    case StatementKind::kSetBlock:
      return RunSetBlock(statement, scope);
    case StatementKind::kMacro:
      scope.Capture();
      scope.Set(statement.macro->symbol, heap_.OfObject(std::make_shared<Macro>(*this, *statement.macro, scope)));
      return Flow::kNext;
    case StatementKind::kCallBlock:
      RETURN_IF_ERROR(RunCallBlock(statement, scope, out));
      return Flow::kNext;
    case StatementKind::kFilterBlock:
      return RunFilterBlock(statement, scope, out);
    case StatementKind::kWith:
      return RunWith(statement, scope, out);
    case StatementKind::kBlock:
      return RunInner(statement.body, statement.recursive ? scope : scopes_.root(), out);
    case StatementKind::kScope:
      return RunInner(statement.body, scope, out);
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kUnsupported:
      return InvalidArgument("the template refers to {}: there is none", statement.name);
  }
  return Flow::kNext;
}

absl::Status Interpreter::RunPrint(const Statement& print, Scope& scope, Text& out) {
  for (const ExpressionPtr& expression : print.expressions) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*expression, scope));
    RETURN_IF_ERROR(AppendString(heap_, value, out));
  }
  return absl::OkStatus();
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunIf(const Statement& statement, Scope& scope, Text& out) {
  for (const Branch& branch : statement.branches) {
    bool taken = true;
    if (branch.condition != nullptr) {
      ASSIGN_OR_RETURN(const Value condition, Evaluate(*branch.condition, scope));
      taken = IsTrue(condition);
    }
    if (taken) return RunBody(branch.body, scope, out);
  }
  return Flow::kNext;
}

absl::Status Interpreter::RunSet(const Statement& set, Scope& scope) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*set.expressions[0], scope));
  return Assign(*set.target, value, scope);
}

absl::Status Interpreter::Assign(const Expression& target, const Value& value, Scope& scope) {
  if (target.kind == ExpressionKind::kName) {
    scope.Set(target.symbol, value);
    return absl::OkStatus();
  }
  if (target.kind == ExpressionKind::kMember) {
    Expression name{.kind = ExpressionKind::kName, .position = target.position};
    name.name = tree_.symbols[target.symbol];
    name.symbol = target.symbol;
    ASSIGN_OR_RETURN(const Value owner, Lookup(name, scope));
    auto* names = owner.is_object() ? dynamic_cast<Namespace*>(&owner.object()) : nullptr;
    if (names == nullptr) return InvalidArgument("cannot assign attribute on non-namespace object");
    return names->Set(heap_, target.name, value);
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const Sequence> parts, Iterate(heap_, value));
  if (parts->items.size() != target.operands.size()) {
    return InvalidArgument("cannot unpack {} values into {} names", parts->items.size(), target.operands.size());
  }
  for (size_t i = 0; i < target.operands.size(); ++i) {
    RETURN_IF_ERROR(Assign(*target.operands[i], parts->items[i], scope));
  }
  return absl::OkStatus();
}

// The text of a block, through the filters that the block names.
absl::StatusOr<Value> Interpreter::Filtered(const Statement& block, Text text, Scope& scope) {
  Value value = heap_.String(std::move(text));
  if (block.filter == nullptr) return value;
  Value outer = std::exchange(block_text_, std::move(value));
  absl::StatusOr<Value> filtered = Evaluate(*block.filter, scope);
  block_text_ = std::move(outer);
  return filtered;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunSetBlock(const Statement& set, Scope& scope) {
  Text text;
  ASSIGN_OR_RETURN(const Flow flow, RunInner(set.body, scope, text));
  if (flow != Flow::kNext) return flow;
  ASSIGN_OR_RETURN(const Value value, Filtered(set, std::move(text), scope));
  RETURN_IF_ERROR(Assign(*set.target, value, scope));
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunFilterBlock(const Statement& block, Scope& scope, Text& out) {
  Text text;
  ASSIGN_OR_RETURN(const Flow flow, RunInner(block.body, scope, text));
  if (flow != Flow::kNext) return flow;
  ASSIGN_OR_RETURN(const Value value, Filtered(block, std::move(text), scope));
  RETURN_IF_ERROR(AppendString(heap_, value, out));
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunWith(const Statement& with, Scope& scope, Text& out) {
  Scope& inner = scopes_.Enter(scope);
  for (const auto& [target, expression] : with.assignments) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*expression, scope));
    RETURN_IF_ERROR(Assign(*target, value, inner));
  }
  absl::StatusOr<Flow> flow = RunBody(with.body, inner, out);
  scopes_.Leave(inner);
  return flow;
}

}  // namespace inferd::chat_template
