// When a request that comes now would have its first token.
//
//   double seconds = ExpectedWaitSeconds(limits, load, {.tokens = 4000, .blocks = 64, .first_blocks = 64}, rates);
#pragma once

#include "engine/scheduler/load.h"
#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

// Seconds until its prompt begins to be the one that is computed: after those that go before it (a better priority,
// then the shorter ones) and, where places or pages are taken, after the end of as many sequences as give one of its
// choices room; those of a worse priority give way at once.
double SecondsBefore(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates);

// The same and its own prompt's; of texts to embed, until the last is done.
double ExpectedWaitSeconds(const QueueLimits& limits, const Load& load, const Arrival& arrival, const Rates& rates);

}  // namespace inferd::scheduler
