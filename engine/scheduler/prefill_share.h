// How much prompt work a step takes, and how it is divided among the prompts.
//
//   Prompt prompts[] = {{.pending = 4000, .length = 4000}, {.pending = 20, .length = 20}};
//   int64_t budget = BurstBudget(/*most=*/256, rates, /*streams=*/{}, prompts);   // 256
//   ShareBudget(budget, prompts);                  // prompts[1].given == 20, prompts[0].given == 236
#pragma once

#include <cstdint>
#include <span>

#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

struct Prompt {
  int64_t pending = 0;            // tokens left to compute
  int64_t length = 0;             // tokens that there were to compute
  int priority = 0;               // smaller goes first
  uint64_t last_served_step = 0;  // 0: never
  int64_t given = 0;              // result
};

// Tokens of prompts in one step, at most `most`. Beside streams, a few prompts get half of the time that the
// streams take of a step, and more where there are more prompts than streams.
int64_t PrefillBudget(int64_t most, const Rates& rates, int64_t streams, int64_t prompts);

struct Streams {
  int64_t count = 0;
  int best_priority = 0;  // of any of them
};

// The same, but more for a burst of short prompts, so that they are computed nearly at once and all decode together: of
// those that one step could take whole, each but the longest weighs as a stream for every 16 tokens of its length, at
// most as eight. They get no more than they have left, and no more than eight times the streams' time. Prompts that
// rank behind a stream are no burst.
int64_t BurstBudget(int64_t most, const Rates& rates, const Streams& streams, std::span<const Prompt> prompts);

// Sum of `given` is min(budget, sum of pending). A better priority takes what it can. Among equals, half of the budget
// goes in equal parts of at least 32 tokens to those that were served longest ago, the rest to those with the least
// left.
void ShareBudget(int64_t budget, std::span<Prompt> prompts);

}  // namespace inferd::scheduler
