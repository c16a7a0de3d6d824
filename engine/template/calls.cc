// The interpreter's calls into the template: macros, call blocks, blocks and loops.
#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/interpreter.h"
#include "engine/template/macro.h"
#include "engine/template/print.h"

namespace inferd::chat_template {
namespace {

using NamedValues = std::vector<std::pair<std::string, Value>>;

std::optional<Value> TakeNamed(NamedValues& named, std::string_view name) {
  const auto found = std::find_if(named.begin(), named.end(), [name](const auto& row) { return row.first == name; });
  if (found == named.end()) return std::nullopt;
  Value value = std::move(found->second);
  named.erase(found);
  return value;
}

}  // namespace

// As jinja2's Macro.__call__: positions first, then names; what is left goes to varargs and kwargs where the macro
// uses them, and is an error otherwise. Defaults are evaluated last and see all other parameters.
absl::Status Interpreter::BindParameters(const MacroDefinition& macro, const Arguments& arguments, Scope& scope) {
  NamedValues named = arguments.named;
  const size_t positions = std::min(arguments.positional.size(), macro.parameters.size());
  std::vector<const MacroDefinition::Parameter*> missing;
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const MacroDefinition::Parameter& parameter = macro.parameters[i];
    if (i < positions) {
      scope.Set(parameter.symbol, arguments.positional[i]);
    } else if (std::optional<Value> value = TakeNamed(named, parameter.name)) {
      scope.Set(parameter.symbol, *std::move(value));
    } else {
      scope.Set(parameter.symbol, heap_.Undefined(fmt::format("parameter '{}' was not provided", parameter.name)));
      if (parameter.otherwise != nullptr) missing.push_back(&parameter);
    }
  }
  const bool has_caller_parameter =
      std::any_of(macro.parameters.begin(), macro.parameters.end(),
                  [](const auto& parameter) { return parameter.symbol == kCallerSymbol; });
  if (macro.uses_caller && !has_caller_parameter) {
    std::optional<Value> caller = TakeNamed(named, "caller");
    scope.Set(kCallerSymbol, caller ? *std::move(caller) : heap_.Undefined("No caller defined"));
  }
  if (macro.uses_kwargs) {
    Dict dict;
    for (auto& [name, value] : named) dict.SetNew(heap_.String(name), std::move(value));
    scope.Set(kKwargsSymbol, heap_.OfDict(std::move(dict)));
  } else if (!named.empty()) {
    return InvalidArgument("macro '{}' takes no keyword argument '{}'", macro.name, named.front().first);
  }
  if (macro.uses_varargs) {
    scope.Set(kVarargsSymbol, heap_.Tuple({arguments.positional.begin() + static_cast<ptrdiff_t>(positions),
                                           arguments.positional.end()}));
  } else if (arguments.positional.size() > positions) {
    return InvalidArgument("macro '{}' takes not more than {} argument(s)", macro.name, macro.parameters.size());
  }
  for (const MacroDefinition::Parameter* parameter : missing) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*parameter->otherwise, scope));
    scope.Set(parameter->symbol, std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Interpreter::CallMacro(const MacroDefinition& macro, Scope& outer, const Arguments& arguments) {
  RETURN_IF_ERROR(heap_.Step());
  const Heap::Level level(heap_);
  RETURN_IF_ERROR(level.Check());
  Scope& scope = scopes_.Enter(outer);
  RETURN_IF_ERROR(BindParameters(macro, arguments, scope));
  Text text;
  RETURN_IF_ERROR(RunBody(macro.body, scope, text).status());
  scopes_.Leave(scope);
  return heap_.String(std::move(text));
}

absl::Status Interpreter::RunCallBlock(const Statement& block, Scope& scope, Text& out) {
  scope.Capture();
  const Value caller = heap_.OfObject(std::make_shared<Macro>(*this, *block.macro, scope));
  ASSIGN_OR_RETURN(const Value value, EvaluateCall(*block.expressions[0], scope, &caller));
  return AppendString(heap_, value, out);
}

absl::StatusOr<Value> Interpreter::CallBlock(const Statement& block) {
  const Heap::Level level(heap_);
  RETURN_IF_ERROR(level.Check());
  Text text;
  RETURN_IF_ERROR(RunInner(block.body, scopes_.root(), text).status());
  return heap_.String(std::move(text));
}

absl::StatusOr<Value> Interpreter::CallLoop(const Statement& loop, Scope& outer, const Value& iterable,
                                            uint32_t depth) {
  const Heap::Level level(heap_);
  RETURN_IF_ERROR(level.Check());
  Text text;
  RETURN_IF_ERROR(RunLoop(loop, outer, iterable, depth, text).status());
  return heap_.String(std::move(text));
}

absl::StatusOr<bool> Interpreter::LoopTakes(const Statement& loop, Scope& outer, const Value& element) {
  if (loop.condition == nullptr) return true;
  Scope& scope = scopes_.Enter(outer);
  RETURN_IF_ERROR(Assign(*loop.target, element, scope));
  ASSIGN_OR_RETURN(const Value taken, Evaluate(*loop.condition, scope));
  scopes_.Leave(scope);
  return IsTrue(taken);
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunLoop(const Statement& loop, Scope& outer, const Value& iterable,
                                                       uint32_t depth, Text& out) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Sequence> elements, Iterate(heap_, iterable));
  bool completed = false;
  if (loop.uses_loop) {
    if (loop.recursive) outer.Capture();  // the loop object may be kept and called later
    const Value self = heap_.Keep(std::make_unique<LoopObject>(*this, loop, outer, std::move(elements), depth));
    auto& state = static_cast<LoopObject&>(self.object());
    ASSIGN_OR_RETURN(completed, RunIterations(loop, outer, state, self, out));
    state.Finish();
  } else {
    LoopObject state(*this, loop, outer, std::move(elements), depth);
    ASSIGN_OR_RETURN(completed, RunIterations(loop, outer, state, Value(), out));
  }
  if (!completed && !loop.otherwise.empty()) return RunInner(loop.otherwise, outer, out);
  return Flow::kNext;
}

// Whether any iteration came to the end of the body: jinja2 decides about the else block by that, so a body that is
// left by break or continue does not count.
absl::StatusOr<bool> Interpreter::RunIterations(const Statement& loop, Scope& outer, LoopObject& state,
                                                const Value& self, Text& out) {
  bool completed = false;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Value> element, state.Advance(heap_));
    if (!element) return completed;
    Scope& scope = scopes_.Enter(outer);
    if (loop.uses_loop) scope.Set(kLoopSymbol, self);
    RETURN_IF_ERROR(Assign(*loop.target, *element, scope));
    ASSIGN_OR_RETURN(const Flow flow, RunBody(loop.body, scope, out));
    scopes_.Leave(scope);
    completed = completed || flow == Flow::kNext;
    if (flow == Flow::kBreak) return completed;
  }
}

}  // namespace inferd::chat_template
