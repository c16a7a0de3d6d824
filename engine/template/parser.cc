// The grammar of statements.
#include "engine/template/parser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "engine/template/parser_base.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

using StatementPtr = std::unique_ptr<Statement>;

class Parser final : public ExpressionParser {
 public:
  explicit Parser(std::vector<Token> tokens) : ExpressionParser(std::move(tokens)) {
    for (const char* name : {"loop", "caller", "varargs", "kwargs", "self"}) SymbolOf(name);
  }

  absl::StatusOr<SyntaxTree> Run() {
    SyntaxTree tree;
    ASSIGN_OR_RETURN(tree.body, ParseBody({}));
    if (!unknown_.empty()) return unknown_.front();
    tree.symbols = std::move(symbols_);
    tree.blocks = std::move(blocks_);
    return tree;
  }

 private:
  using Method = absl::StatusOr<StatementPtr> (Parser::*)(Position);
  struct Tag {
    std::string_view name;
    Method parse;
  };
  static const std::array<Tag, 17> kTags;

  StatementPtr New(StatementKind kind, Position position) {
    return std::make_unique<Statement>(Statement{.kind = kind, .position = position});
  }
  // Statements up to a tag with one of these names, which is not consumed; without names up to the end.
  absl::StatusOr<Body> ParseBody(std::initializer_list<std::string_view> ends);
  // "%}", statements and the end tag with its name: the body of a block.
  absl::StatusOr<Body> ParseBlockBody(std::initializer_list<std::string_view> ends);
  absl::StatusOr<Body> ParseScopedBody(std::string_view end);
  absl::StatusOr<StatementPtr> ParseStatement();

  absl::StatusOr<StatementPtr> ParseSet(Position position);
  absl::StatusOr<StatementPtr> ParseFor(Position position);
  absl::StatusOr<StatementPtr> ParseIf(Position position);
  absl::StatusOr<StatementPtr> ParseWith(Position position);
  absl::StatusOr<StatementPtr> ParseMacro(Position position);
  absl::StatusOr<StatementPtr> ParseCallBlock(Position position);
  absl::StatusOr<StatementPtr> ParseFilterBlock(Position position);
  absl::StatusOr<StatementPtr> ParseBlock(Position position);
  absl::StatusOr<StatementPtr> ParsePrint(Position position);
  absl::StatusOr<StatementPtr> ParseGeneration(Position position);
  absl::StatusOr<StatementPtr> ParseAutoescape(Position position);
  absl::StatusOr<StatementPtr> ParseBreak(Position position);
  absl::StatusOr<StatementPtr> ParseContinue(Position position);
  absl::StatusOr<StatementPtr> ParseUnsupported(Position position);
  absl::Status ParseSignature(MacroDefinition& macro);
  absl::Status ParseMacroBody(MacroDefinition& macro, std::string_view end);
  absl::StatusOr<StatementPtr> ParseLoopControl(StatementKind kind, Position position);

  // What is used inside of a statement is used around it too.
  void NoteMacroUse(const Usage& usage) {
    if (usage.caller) NoteUse(kCallerSymbol);
    if (usage.varargs) NoteUse(kVarargsSymbol);
    if (usage.kwargs) NoteUse(kKwargsSymbol);
  }

  uint32_t block_depth_ = 0;
  uint32_t loop_depth_ = 0;  // loops that break and continue can reach
  std::vector<std::pair<std::string, const Statement*>> blocks_;
};

const std::array<Parser::Tag, 17> Parser::kTags = {{{"if", &Parser::ParseIf},
                                                    {"for", &Parser::ParseFor},
                                                    {"set", &Parser::ParseSet},
                                                    {"macro", &Parser::ParseMacro},
                                                    {"call", &Parser::ParseCallBlock},
                                                    {"filter", &Parser::ParseFilterBlock},
                                                    {"with", &Parser::ParseWith},
                                                    {"block", &Parser::ParseBlock},
                                                    {"print", &Parser::ParsePrint},
                                                    {"generation", &Parser::ParseGeneration},
                                                    {"autoescape", &Parser::ParseAutoescape},
                                                    {"break", &Parser::ParseBreak},
                                                    {"continue", &Parser::ParseContinue},
                                                    {"include", &Parser::ParseUnsupported},
                                                    {"import", &Parser::ParseUnsupported},
                                                    {"from", &Parser::ParseUnsupported},
                                                    {"extends", &Parser::ParseUnsupported}}};

absl::StatusOr<Body> Parser::ParseBody(std::initializer_list<std::string_view> ends) {
  if (block_depth_ >= kMaxBlockDepth) return Error(fmt::format("blocks are nested more than {} deep", kMaxBlockDepth));
  ++block_depth_;
  Body body;
  const auto is_end = [&] {
    return std::any_of(ends.begin(), ends.end(), [&](auto end) { return current().IsName(end); });
  };
  while (current().type != TokenType::kEnd) {
    const Position position = current().position;
    if (current().type == TokenType::kData) {
      body.push_back(New(StatementKind::kText, position));
      body.back()->text = Value::Constant(chat_template::Text(Take().text, true));
    } else if (current().type == TokenType::kVariableBegin) {
      Take();
      body.push_back(New(StatementKind::kPrint, position));
      ASSIGN_OR_RETURN(ExpressionPtr value, ParseTuple());
      body.back()->expressions.push_back(std::move(value));
      RETURN_IF_ERROR(Expect(TokenType::kVariableEnd));
    } else {
      RETURN_IF_ERROR(Expect(TokenType::kBlockBegin));
      if (is_end()) break;
      ASSIGN_OR_RETURN(StatementPtr statement, ParseStatement());
      body.push_back(std::move(statement));
      RETURN_IF_ERROR(Expect(TokenType::kBlockEnd));
    }
  }
  if (ends.size() > 0 && current().type == TokenType::kEnd) {
    return Unexpected(fmt::format("'{}'", fmt::join(ends, "' or '")));
  }
  --block_depth_;
  return body;
}

absl::StatusOr<Body> Parser::ParseBlockBody(std::initializer_list<std::string_view> ends) {
  SkipOperator(":");
  RETURN_IF_ERROR(Expect(TokenType::kBlockEnd));
  return ParseBody(ends);
}

// A body that is a scope of its own, up to and with its end tag's name.
absl::StatusOr<Body> Parser::ParseScopedBody(std::string_view end) {
  const bool was_lenient = std::exchange(lenient_, false);
  ASSIGN_OR_RETURN(Body body, ParseBlockBody({end}));
  Take();
  lenient_ = was_lenient;
  return body;
}

absl::StatusOr<StatementPtr> Parser::ParseStatement() {
  ASSIGN_OR_RETURN(const Token name, ExpectAnyName());
  const auto tag = std::find_if(kTags.begin(), kTags.end(), [&](const Tag& row) { return row.name == name.text; });
  if (tag == kTags.end()) return ErrorAt(name.position, fmt::format("unknown tag '{}'", name.text));
  return (this->*tag->parse)(name.position);
}

absl::StatusOr<StatementPtr> Parser::ParseSet(Position position) {
  StatementPtr set = New(StatementKind::kSet, position);
  ASSIGN_OR_RETURN(set->target, ParseTarget("", true));
  if (SkipOperator("=")) {
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseTuple());
    set->expressions.push_back(std::move(value));
    return set;
  }
  set->kind = StatementKind::kSetBlock;
  ASSIGN_OR_RETURN(set->filter, ParseFilters(nullptr, false));
  ASSIGN_OR_RETURN(set->body, ParseScopedBody("endset"));
  return set;
}

absl::StatusOr<StatementPtr> Parser::ParseFor(Position position) {
  StatementPtr loop = New(StatementKind::kFor, position);
  ASSIGN_OR_RETURN(loop->target, ParseTarget("in", false));
  if (loop->target->kind == ExpressionKind::kName && loop->target->symbol == kLoopSymbol) {
    return ErrorAt(loop->target->position, "the elements of a loop cannot be named 'loop'");
  }
  RETURN_IF_ERROR(ExpectName("in"));
  ASSIGN_OR_RETURN(ExpressionPtr iterated, ParseTuple(false, "recursive"));
  loop->expressions.push_back(std::move(iterated));
  if (SkipName("if")) {
    ASSIGN_OR_RETURN(loop->condition, ParseExpression());
  }
  loop->recursive = SkipName("recursive");
  const bool was_lenient = std::exchange(lenient_, false);
  usages_.emplace_back();
  ++loop_depth_;
  ASSIGN_OR_RETURN(loop->body, ParseBlockBody({"endfor", "else"}));
  --loop_depth_;
  const Usage usage = usages_.back();
  usages_.pop_back();
  loop->uses_loop = usage.loop || loop->recursive;
  NoteMacroUse(usage);
  if (Take().text == "else") {
    ASSIGN_OR_RETURN(loop->otherwise, ParseBlockBody({"endfor"}));
    Take();
  }
  lenient_ = was_lenient;
  return loop;
}

absl::StatusOr<StatementPtr> Parser::ParseIf(Position position) {
  StatementPtr statement = New(StatementKind::kIf, position);
  const bool was_lenient = std::exchange(lenient_, true);
  while (true) {
    Branch branch;
    ASSIGN_OR_RETURN(branch.condition, ParseTuple(false));
    ASSIGN_OR_RETURN(branch.body, ParseBlockBody({"elif", "else", "endif"}));
    statement->branches.push_back(std::move(branch));
    const Token end = Take();
    if (end.text == "elif") continue;
    if (end.text == "else") {
      ASSIGN_OR_RETURN(Body otherwise, ParseBlockBody({"endif"}));
      Take();
      statement->branches.push_back(Branch{nullptr, std::move(otherwise)});
    }
    break;
  }
  lenient_ = was_lenient;
  return statement;
}

absl::StatusOr<StatementPtr> Parser::ParseWith(Position position) {
  StatementPtr with = New(StatementKind::kWith, position);
  while (current().type != TokenType::kBlockEnd) {
    if (!with->assignments.empty()) RETURN_IF_ERROR(ExpectOperator(","));
    ASSIGN_OR_RETURN(ExpressionPtr target, ParseTarget("", false));
    RETURN_IF_ERROR(ExpectOperator("="));
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    with->assignments.emplace_back(std::move(target), std::move(value));
  }
  ASSIGN_OR_RETURN(with->body, ParseScopedBody("endwith"));
  return with;
}

absl::Status Parser::ParseSignature(MacroDefinition& macro) {
  RETURN_IF_ERROR(ExpectOperator("("));
  while (!current().IsOperator(")")) {
    if (!macro.parameters.empty()) RETURN_IF_ERROR(ExpectOperator(","));
    ASSIGN_OR_RETURN(const Token name, ExpectAnyName());
    for (const MacroDefinition::Parameter& other : macro.parameters) {
      if (other.name == name.text)
        return ErrorAt(name.position, fmt::format("parameter '{}' is given twice", name.text));
    }
    ExpressionPtr otherwise;
    if (SkipOperator("=")) {
      ASSIGN_OR_RETURN(otherwise, ParseExpression());
    } else if (!macro.parameters.empty() && macro.parameters.back().otherwise != nullptr) {
      return ErrorAt(name.position, "a parameter without a default follows one with a default");
    }
    macro.parameters.push_back({SymbolOf(name.text), name.text, std::move(otherwise)});
  }
  return ExpectOperator(")");
}

absl::Status Parser::ParseMacroBody(MacroDefinition& macro, std::string_view end) {
  const uint32_t outer_loops = std::exchange(loop_depth_, 0);
  ASSIGN_OR_RETURN(macro.body, ParseScopedBody(end));
  loop_depth_ = outer_loops;
  const Usage usage = usages_.back();
  usages_.pop_back();
  macro.uses_caller = usage.caller;
  macro.uses_varargs = usage.varargs;
  macro.uses_kwargs = usage.kwargs;
  if (usage.loop) NoteUse(kLoopSymbol);
  NoteMacroUse(usage);
  return absl::OkStatus();
}

absl::StatusOr<StatementPtr> Parser::ParseMacro(Position position) {
  StatementPtr statement = New(StatementKind::kMacro, position);
  statement->macro = std::make_unique<MacroDefinition>();
  ASSIGN_OR_RETURN(const Token name, ExpectAnyName());
  statement->macro->name = name.text;
  statement->macro->symbol = SymbolOf(name.text);
  usages_.emplace_back();
  RETURN_IF_ERROR(ParseSignature(*statement->macro));
  RETURN_IF_ERROR(ParseMacroBody(*statement->macro, "endmacro"));
  return statement;
}

absl::StatusOr<StatementPtr> Parser::ParseCallBlock(Position position) {
  StatementPtr statement = New(StatementKind::kCallBlock, position);
  statement->macro = std::make_unique<MacroDefinition>();
  statement->macro->name = "caller";
  if (current().IsOperator("(")) RETURN_IF_ERROR(ParseSignature(*statement->macro));
  ASSIGN_OR_RETURN(ExpressionPtr call, ParseExpression());
  if (call->kind != ExpressionKind::kCall) return ErrorAt(position, "expected a call after 'call'");
  statement->expressions.push_back(std::move(call));
  usages_.emplace_back();
  RETURN_IF_ERROR(ParseMacroBody(*statement->macro, "endcall"));
  return statement;
}

absl::StatusOr<StatementPtr> Parser::ParseFilterBlock(Position position) {
  StatementPtr statement = New(StatementKind::kFilterBlock, position);
  ASSIGN_OR_RETURN(statement->filter, ParseFilters(nullptr, true));
  ASSIGN_OR_RETURN(statement->body, ParseScopedBody("endfilter"));
  return statement;
}

absl::StatusOr<StatementPtr> Parser::ParseBlock(Position position) {
  StatementPtr block = New(StatementKind::kBlock, position);
  ASSIGN_OR_RETURN(const Token name, ExpectAnyName());
  const auto same = [&](const auto& other) { return other.first == name.text; };
  if (std::any_of(blocks_.begin(), blocks_.end(), same)) {
    return ErrorAt(name.position, fmt::format("block '{}' is defined twice", name.text));
  }
  block->name = name.text;
  block->recursive = SkipName("scoped");  // sees the variables of the scopes around it
  SkipName("required");
  blocks_.emplace_back(name.text, block.get());
  const uint32_t outer_loops = std::exchange(loop_depth_, 0);
  ASSIGN_OR_RETURN(block->body, ParseScopedBody("endblock"));
  loop_depth_ = outer_loops;
  SkipName(name.text);
  return block;
}

absl::StatusOr<StatementPtr> Parser::ParsePrint(Position position) {
  StatementPtr print = New(StatementKind::kPrint, position);
  while (current().type != TokenType::kBlockEnd) {
    if (!print->expressions.empty()) RETURN_IF_ERROR(ExpectOperator(","));
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    print->expressions.push_back(std::move(value));
  }
  return print;
}

absl::StatusOr<StatementPtr> Parser::ParseGeneration(Position position) {
  StatementPtr scope = New(StatementKind::kScope, position);
  const uint32_t outer_loops = std::exchange(loop_depth_, 0);
  ASSIGN_OR_RETURN(scope->body, ParseScopedBody("endgeneration"));
  loop_depth_ = outer_loops;
  return scope;
}

absl::StatusOr<StatementPtr> Parser::ParseAutoescape(Position position) {
  StatementPtr scope = New(StatementKind::kScope, position);
  ASSIGN_OR_RETURN(const ExpressionPtr on, ParseExpression());
  if (on->kind != ExpressionKind::kConstant || !on->constant.is_bool() || on->constant.boolean()) {
    return ErrorAt(position, "automatic escaping is not supported: only 'autoescape false' is");
  }
  ASSIGN_OR_RETURN(scope->body, ParseScopedBody("endautoescape"));
  return scope;
}

absl::StatusOr<StatementPtr> Parser::ParseBreak(Position position) {
  return ParseLoopControl(StatementKind::kBreak, position);
}

absl::StatusOr<StatementPtr> Parser::ParseContinue(Position position) {
  return ParseLoopControl(StatementKind::kContinue, position);
}

absl::StatusOr<StatementPtr> Parser::ParseLoopControl(StatementKind kind, Position position) {
  if (loop_depth_ == 0) return ErrorAt(position, "'break' or 'continue' outside of a loop");
  return New(kind, position);
}

// Other templates do not exist: reaching such a tag is an error, having it is not.
absl::StatusOr<StatementPtr> Parser::ParseUnsupported(Position position) {
  StatementPtr statement = New(StatementKind::kUnsupported, position);
  statement->name = "another template";
  while (current().type != TokenType::kBlockEnd && current().type != TokenType::kEnd) Take();
  return statement;
}

}  // namespace

absl::StatusOr<SyntaxTree> ParseTemplate(std::string_view source) {
  if (const size_t invalid = FindInvalidUtf8(source); invalid != std::string_view::npos) {
    return InvalidArgument("byte {} is not valid UTF-8", invalid);
  }
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace inferd::chat_template
