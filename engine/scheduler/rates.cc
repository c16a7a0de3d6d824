// Exponential averages: about the last twenty steps or requests count.
#include "engine/scheduler/rates.h"

#include <algorithm>

namespace inferd::scheduler {
namespace {

constexpr double kWeight = 0.1;

void Average(double& average, double value) { average = average == 0 ? value : average + kWeight * (value - average); }

}  // namespace

void Rates::StepDone(const StepShape& shape, double seconds) {
  if (shape.prefill_tokens == 0) {
    if (shape.decode_sequences > 0) Average(decode_step_, seconds);
    return;
  }
  // Of a mixed step, the prompts' share is what it took longer than a step of decoding alone.
  const double decode = shape.decode_sequences > 0 ? decode_step_ : 0;
  const double prefill = std::max(seconds - decode, 0.1 * seconds);
  Average(prefill_token_, prefill / static_cast<double>(shape.prefill_tokens));
}

void Rates::RequestDone(double running_seconds) { Average(request_, running_seconds); }

}  // namespace inferd::scheduler
