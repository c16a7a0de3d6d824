// A measured speed and a load for tests of admission and of the expected wait.
//
//   ExpectedWaitSeconds({}, Running(/*sequences=*/8, /*tokens_left=*/10), {.tokens = 1500}, Measured());
#pragma once

#include "engine/scheduler/load.h"
#include "engine/scheduler/rates.h"

namespace inferd::scheduler {

// 1 ms a prompt token, 20 ms a decode step, 50 tokens a sequence.
inline Rates Measured() {
  Rates rates;
  rates.StepDone({.decode_sequences = 8}, 0.02);
  rates.StepDone({.decode_sequences = 0, .prefill_tokens = 100}, 0.1);
  for (int i = 0; i < 200; ++i) rates.SequenceDone(50);
  return rates;
}

// So many running sequences of normal priority, each with as many tokens to generate and two pages.
inline Load Running(int64_t sequences, int64_t tokens_left) {
  Load load{.running_sequences = sequences, .decoding_sequences = sequences, .free_blocks = 1000};
  load.endings.assign(static_cast<size_t>(sequences), {.tokens_left = tokens_left, .blocks = 2});
  load.classes[1].running_sequences = sequences;
  load.classes[1].running_blocks = 2 * sequences;
  return load;
}

}  // namespace inferd::scheduler
