// How fast this engine is, measured from its own steps: the base of expected waits and of the prompt work that a step
// can take beside running streams.
//
//   rates.StepDone({.decode_sequences = 8, .prefill_tokens = 256}, step_seconds);
//   double wait = tokens_ahead * rates.prefill_seconds_per_token();
#pragma once

#include <cstdint>

namespace inferd::scheduler {

struct StepShape {
  int64_t decode_sequences = 0;
  int64_t prefill_tokens = 0;
};

class Rates {
 public:
  void StepDone(const StepShape& shape, double seconds);
  void RequestDone(double running_seconds);

  // 0 until measured.
  double decode_step_seconds() const { return decode_step_; }
  double prefill_seconds_per_token() const { return prefill_token_; }
  double request_seconds() const { return request_; }  // from admission to the end

 private:
  double decode_step_ = 0, prefill_token_ = 0, request_ = 0;
};

}  // namespace inferd::scheduler
