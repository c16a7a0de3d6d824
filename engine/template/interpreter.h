// One render of a syntax tree: walks statements and expressions, writing text. Private to the interpreter's sources:
// statements.cc, expressions.cc and calls.cc (macros, loops, blocks).
#pragma once

#include <boost/json/fwd.hpp>
#include <ctime>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/ast.h"
#include "engine/template/heap.h"
#include "engine/template/parser.h"
#include "engine/template/scope.h"

namespace inferd::chat_template {

class LoopObject;

class Interpreter {
 public:
  Interpreter(const SyntaxTree& tree, const Limits& limits, const boost::json::object& request,
              const boost::json::object& model, const std::tm& now);

  absl::StatusOr<Text> Run();

  // For objects that run parts of the tree when they are called.
  absl::StatusOr<Value> CallMacro(const MacroDefinition& macro, Scope& outer, const Arguments& arguments);
  absl::StatusOr<Value> CallBlock(const Statement& block);
  absl::StatusOr<Value> CallLoop(const Statement& loop, Scope& outer, const Value& iterable, uint32_t depth);
  // Whether the loop's condition holds for an element.
  absl::StatusOr<bool> LoopTakes(const Statement& loop, Scope& outer, const Value& element);
  const SyntaxTree& tree() const { return tree_; }

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  absl::StatusOr<Flow> RunBody(const Body& body, Scope& scope, Text& out);
  absl::StatusOr<Flow> RunStatement(const Statement& statement, Scope& scope, Text& out);
  absl::StatusOr<Flow> RunInner(const Body& body, Scope& parent, Text& out);  // in a scope of its own
  absl::Status RunPrint(const Statement& print, Scope& scope, Text& out);
  absl::StatusOr<Flow> RunIf(const Statement& statement, Scope& scope, Text& out);
  absl::Status RunSet(const Statement& set, Scope& scope);
  absl::StatusOr<Flow> RunSetBlock(const Statement& set, Scope& scope);
  absl::StatusOr<Flow> RunFilterBlock(const Statement& block, Scope& scope, Text& out);
  absl::StatusOr<Flow> RunWith(const Statement& with, Scope& scope, Text& out);
  absl::Status RunCallBlock(const Statement& block, Scope& scope, Text& out);
  absl::StatusOr<Flow> RunLoop(const Statement& loop, Scope& outer, const Value& iterable, uint32_t depth, Text& out);
  absl::StatusOr<bool> RunIterations(const Statement& loop, Scope& outer, LoopObject& state, const Value& self,
                                     Text& out);
  absl::StatusOr<Value> Filtered(const Statement& block, Text text, Scope& scope);
  absl::Status Assign(const Expression& target, const Value& value, Scope& scope);
  absl::Status BindParameters(const MacroDefinition& macro, const Arguments& arguments, Scope& scope);

  absl::StatusOr<Value> Evaluate(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateKind(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateItems(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateDict(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateItem(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateAttribute(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateCall(const Expression& expression, Scope& scope, const Value* caller = nullptr);
  absl::StatusOr<Value> EvaluateFilter(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateTest(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateUnary(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateArithmetic(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateConcat(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateCompare(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateLogic(const Expression& expression, Scope& scope);
  absl::StatusOr<Value> EvaluateConditional(const Expression& expression, Scope& scope);
  absl::StatusOr<Arguments> EvaluateArguments(const CallArguments* call, Scope& scope);
  absl::StatusOr<Value> Lookup(const Expression& name, const Scope& scope);
  absl::StatusOr<std::optional<Value>> FromContext(Symbol symbol);

  // The error with the place where it arose, which is the innermost: places further out are not added.
  absl::Status Located(Position position, const absl::Status& status);

  const SyntaxTree& tree_;
  const boost::json::object& request_;
  const boost::json::object& model_;
  const std::tm& now_;
  Heap heap_;
  Scopes scopes_;
  std::vector<bool> looked_up_;  // by Symbol: the context has been asked
  std::vector<std::optional<Value>> context_;
  Value block_text_;  // what the filter of a block is applied to
  bool located_ = false;
};

}  // namespace inferd::chat_template
