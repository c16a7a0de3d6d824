// What all constraints become first: rules over bytes. Regular expressions, GBNF and JSON schemas are written into a
// Grammar; Program makes an automaton of it.
//
//   Grammar grammar;
//   const RuleId list = grammar.AddRule("list");
//   grammar.Define(list, grammar.Sequence({grammar.Literal("x"), grammar.Optional(grammar.Call(list))}));
//   grammar.set_root(list);
//
// Expressions may be used in several places. A grammar that grows beyond the bounds below is marked as too large, and
// Program::Create refuses it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/constraint/char_set.h"

namespace inferd::constraint {

using ExprId = int32_t;
using RuleId = int32_t;
constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();
constexpr size_t kMostExpressions = 200'000;
constexpr size_t kMostSets = 4096;

class Grammar {
 public:
  enum class Kind : uint8_t { kEmpty, kNothing, kBytes, kMarker, kSequence, kChoice, kRepeat, kCall };
  struct Expr {
    Kind kind;
    int32_t what = 0;           // index of the byte set or marker, the rule
    std::vector<ExprId> parts;  // of kSequence, kChoice and kRepeat; made before the expression itself
    uint32_t least = 0, most = 0;
  };
  struct Rule {
    std::string name;
    ExprId body = -1;  // -1: not defined yet
  };

  ExprId Empty() { return Add({.kind = Kind::kEmpty}); }
  // Matches not even the empty text.
  ExprId Nothing() { return Add({.kind = Kind::kNothing}); }
  ExprId Bytes(const ByteSet& set);
  ExprId Byte(unsigned char byte) { return Bytes(ByteSet().set(byte)); }
  ExprId Literal(std::string_view text);
  // One character of the set, in UTF-8.
  ExprId Chars(const CharSet& set);
  // A control token, which has no bytes of its own here.
  ExprId Marker(int32_t token);
  ExprId Sequence(std::vector<ExprId> parts);
  ExprId Choice(std::vector<ExprId> parts);
  ExprId Repeat(ExprId part, uint32_t least, uint32_t most);
  ExprId Optional(ExprId part) { return Repeat(part, 0, 1); }
  ExprId Star(ExprId part) { return Repeat(part, 0, kUnbounded); }
  ExprId Call(RuleId rule) { return Add({.kind = Kind::kCall, .what = rule}); }

  RuleId AddRule(std::string name);
  void Define(RuleId rule, ExprId body) { rules_[static_cast<size_t>(rule)].body = body; }
  // A rule with that body.
  ExprId Named(std::string name, ExprId body);
  void set_root(RuleId rule) { root_ = rule; }

  RuleId root() const { return root_; }
  const std::vector<Expr>& exprs() const { return exprs_; }
  const std::vector<Rule>& rules() const { return rules_; }
  const std::vector<ByteSet>& sets() const { return sets_; }
  const std::vector<int32_t>& markers() const { return markers_; }  // tokens
  bool too_large() const { return too_large_; }

 private:
  ExprId Add(Expr expr);

  std::vector<Expr> exprs_;
  std::vector<Rule> rules_;
  std::vector<ByteSet> sets_;
  absl::flat_hash_map<std::string, int32_t> set_ids_;
  std::vector<int32_t> markers_;
  RuleId root_ = -1;
  bool too_large_ = false;
};

}  // namespace inferd::constraint
