// How much prompt work a step takes, and how it is divided among the prompts.
//
//   int64_t budget = PrefillBudget(/*most=*/256, rates, /*streams=*/8, /*prompts=*/2);
//   Prompt prompts[] = {{.pending = 4000}, {.pending = 20}};
//   ShareBudget(256, prompts);                     // prompts[1].given == 20, prompts[0].given == 236
#pragma once

#include <cstdint>
#include <span>

#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

struct Prompt {
  int64_t pending = 0;            // tokens left to compute
  int priority = 0;               // smaller goes first
  uint64_t last_served_step = 0;  // 0: never
  int64_t given = 0;              // result
};

// Tokens of prompts in one step, at most `most`. Beside streams, one prompt gets three fifths of the time that the
// streams take of a step; each further one weighs as much as eight streams, so that a burst of prompts is computed
// nearly at once and all decode together.
int64_t PrefillBudget(int64_t most, const Rates& rates, int64_t streams, int64_t prompts);

// Sum of `given` is min(budget, sum of pending). A better priority takes what it can. Among equals, half of the budget
// goes in equal parts of at least 32 tokens to those that were served longest ago, the rest to those with the least
// left.
void ShareBudget(int64_t budget, std::span<Prompt> prompts);

}  // namespace inferd::scheduler
