// Both facts are least fixed points: an expression has the property once enough of its parts have it. Each expression
// counts the parts that it waits for, so that the work is linear in the grammar.
#include "engine/constraint/grammar_facts.h"

#include <utility>

namespace inferd::constraint {
namespace {

using Kind = Grammar::Kind;

class Fixpoint {
 public:
  Fixpoint(const Grammar& grammar, bool of_nullable)
      : grammar_(grammar), holds_(grammar.exprs().size()), waits_(grammar.exprs().size()) {
    for (size_t id = 0; id < grammar.exprs().size(); ++id) Register(static_cast<ExprId>(id), of_nullable);
  }

  std::vector<bool> Run() {
    while (!fresh_.empty()) {
      const ExprId done = fresh_.back();
      fresh_.pop_back();
      for (ExprId user : users_[static_cast<size_t>(done)]) {
        if (--waits_[static_cast<size_t>(user)] == 0) Mark(user);
      }
    }
    return std::move(holds_);
  }

 private:
  void Register(ExprId id, bool of_nullable) {
    users_.resize(grammar_.exprs().size());
    const Grammar::Expr& expr = grammar_.exprs()[static_cast<size_t>(id)];
    int32_t waits = 1;
    bool holds = false;
    switch (expr.kind) {
      case Kind::kEmpty:
        holds = true;
        break;
      case Kind::kNothing:
        break;
      case Kind::kBytes:
      case Kind::kMarker:
        holds = !of_nullable;
        break;
      case Kind::kSequence:
        waits = static_cast<int32_t>(expr.parts.size());
        break;
      case Kind::kRepeat:
        holds = expr.least == 0;
        break;
      case Kind::kChoice:
        break;
      case Kind::kCall:
        users_[static_cast<size_t>(grammar_.rules()[static_cast<size_t>(expr.what)].body)].push_back(id);
        break;
    }
    waits_[static_cast<size_t>(id)] = waits;
    for (ExprId part : expr.parts) users_[static_cast<size_t>(part)].push_back(id);
    if (holds) Mark(id);
  }

  void Mark(ExprId id) {
    if (holds_[static_cast<size_t>(id)]) return;
    holds_[static_cast<size_t>(id)] = true;
    fresh_.push_back(id);
  }

  const Grammar& grammar_;
  std::vector<bool> holds_;
  std::vector<int32_t> waits_;  // parts that must hold yet
  std::vector<std::vector<ExprId>> users_;
  std::vector<ExprId> fresh_;
};

}  // namespace

GrammarFacts FactsOf(const Grammar& grammar) {
  return {.nullable = Fixpoint(grammar, true).Run(), .completable = Fixpoint(grammar, false).Run()};
}

}  // namespace inferd::constraint
