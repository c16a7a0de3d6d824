// How a step's prompt work is divided among the prompts.
//
//   Prompt prompts[] = {{.pending = 4000}, {.pending = 20}};
//   ShareBudget(256, prompts);                     // prompts[1].given == 20, prompts[0].given == 236
#pragma once

#include <cstdint>
#include <span>

namespace inferd::scheduler {

struct Prompt {
  int64_t pending = 0;            // tokens left to compute
  int priority = 0;               // smaller goes first
  uint64_t last_served_step = 0;  // 0: never
  int64_t given = 0;              // result
};

// Sum of `given` is min(budget, sum of pending). A better priority takes what it can. Among equals, half of the budget
// goes in equal parts of at least 32 tokens to those that were served longest ago, the rest to those with the least
// left.
void ShareBudget(int64_t budget, std::span<Prompt> prompts);

}  // namespace inferd::scheduler
