// The syntax tree of a template, made by the parser and never changed afterwards.
//
// Names are numbered (Symbol) by the parser, so that scopes compare integers. Every expression knows its height: the
// parser bounds it, so walking a tree by recursion is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/template/builtin.h"
#include "engine/template/token.h"
#include "engine/template/value.h"

namespace inferd::chat_template {

using Symbol = uint32_t;

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<std::unique_ptr<Statement>>;

enum class ExpressionKind : uint8_t {
  kConstant,     // constant
  kName,         // symbol, name
  kList,         // operands
  kTuple,        // operands
  kDict,         // operands: key, value, key, value, ...
  kAttribute,    // operands[0].name
  kItem,         // operands[0][operands[1]]
  kSlice,        // operands: begin, end, step (null: left out); only as the key of kItem
  kCall,         // operands[0](call)
  kFilter,       // operands[0] | name(call); operands[0] null: the text of the block around it
  kTest,         // operands[0] is name(call)
  kNot,          // operands[0]
  kNegative,     // operands[0]
  kPositive,     // operands[0]
  kArithmetic,   // operands[0] operator operands[1]
  kConcat,       // operands joined by ~
  kCompare,      // operands[0] operators[0] operands[1] operators[1] operands[2] ...
  kAnd,          // operands[0], operands[1]
  kOr,           // operands[0], operands[1]
  kConditional,  // operands: condition, then, else (null: undefined)
  kMember,       // target only: namespace `symbol` . `name`
};

enum class Operator : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,  // of kArithmetic
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kNotIn,  // of kCompare
};

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_positional;  // *expression
  ExpressionPtr more_named;       // **expression
};

struct Expression {
  ExpressionKind kind;
  Position position;
  uint32_t height = 1;
  std::vector<ExpressionPtr> operands{};
  Value constant{};
  std::string name{};
  Symbol symbol = 0;
  std::vector<Operator> operators{};
  std::unique_ptr<CallArguments> call{};
  const Builtin* builtin = nullptr;  // of kFilter and kTest; null: unknown, an error when it is reached
};

enum class StatementKind : uint8_t {
  kText,         // text
  kPrint,        // expressions[0]
  kIf,           // branches
  kFor,          // target, expressions[0] (what is iterated), condition, body, otherwise
  kSet,          // target = expressions[0]
  kSetBlock,     // target = body | filter
  kMacro,        // macro
  kCallBlock,    // expressions[0] is the call, macro the caller that it gets
  kFilterBlock,  // body | filter
  kWith,         // targets of macro->parameters..., see `assignments`
  kBlock,        // name, body: in its own place; inheritance needs other templates, which do not exist
  kScope,        // body in a scope of its own: generation blocks
  kBreak,
  kContinue,
  kUnsupported,  // name: include, import, from, extends: an error when it is reached
};

struct MacroDefinition {
  struct Parameter {
    Symbol symbol;
    std::string name;
    ExpressionPtr otherwise;  // null: none
  };
  std::string name;
  Symbol symbol = 0;
  std::vector<Parameter> parameters;
  Body body;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

struct Branch {
  ExpressionPtr condition;  // null: else
  Body body;
};

struct Statement {
  StatementKind kind;
  Position position;
  Value text{};
  std::vector<ExpressionPtr> expressions{};
  ExpressionPtr target{};
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> assignments{};  // of kWith: target, value
  std::vector<Branch> branches{};
  ExpressionPtr condition{};
  ExpressionPtr filter{};
  Body body{};
  Body otherwise{};
  std::unique_ptr<MacroDefinition> macro{};
  std::string name{};
  Symbol symbol = 0;
  bool recursive = false;
  bool uses_loop = false;
};

struct SyntaxTree {
  Body body;
  std::vector<std::string> symbols;  // name of each Symbol
  std::vector<std::pair<std::string, const Statement*>> blocks;
};

}  // namespace inferd::chat_template
