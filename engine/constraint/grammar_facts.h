// What holds of the expressions of a grammar whatever the text: which may be empty, which can be completed at all.
//
//   const GrammarFacts facts = FactsOf(grammar);
//   if (!facts.completable[rule.body]) ...
#pragma once

#include <vector>

#include "engine/constraint/grammar.h"

namespace inferd::constraint {

struct GrammarFacts {
  std::vector<bool> nullable;     // [exprs] matches the empty text
  std::vector<bool> completable;  // [exprs] matches some text
};

// All rules are defined.
GrammarFacts FactsOf(const Grammar& grammar);

}  // namespace inferd::constraint
