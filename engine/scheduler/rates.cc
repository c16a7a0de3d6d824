// Exponential averages: about the last twenty steps or sequences, and the last five hundred tokens of prompts count (a
// token costs more the farther it is from the beginning of its text).
#include "engine/scheduler/rates.h"

#include <algorithm>

namespace inferd::scheduler {
namespace {

constexpr double kLeastWeight = 0.1;
constexpr double kPromptTokens = 512;

}  // namespace

void Rates::Average::Add(double sample) {
  samples += 1;
  value += std::max(kLeastWeight, 1 / samples) * (sample - value);
}

Rates Rates::OfPasses(const PassTimes& times) {
  Rates rates;
  rates.decode_step_ = rates.stream_step_ = {.value = times.step_seconds, .samples = 1};
  rates.prefill_tokens_ = static_cast<double>(times.tokens);
  rates.prefill_seconds_ = std::min(times.pass_seconds, times.step_seconds * rates.prefill_tokens_);
  return rates;
}

double Rates::prefill_seconds_per_token() const { return prefill_tokens_ > 0 ? prefill_seconds_ / prefill_tokens_ : 0; }

void Rates::StepDone(const StepShape& shape, double seconds) {
  if (shape.decode_sequences > 0) stream_step_.Add(seconds);
  if (shape.prefill_tokens == 0) {
    if (shape.decode_sequences > 0) decode_step_.Add(seconds);
    return;
  }
  // Of a mixed step, the prompts' share is what it took longer than a step of decoding alone.
  const double decode = shape.decode_sequences > 0 ? decode_step_.value : 0;
  const double tokens = static_cast<double>(shape.prefill_tokens);
  const double kept = 1 / (1 + tokens / kPromptTokens);
  prefill_seconds_ = prefill_seconds_ * kept + std::max(seconds - decode, 0.1 * seconds);
  prefill_tokens_ = prefill_tokens_ * kept + tokens;
}

void Rates::SequenceDone(int64_t generated_tokens) { generated_tokens_.Add(static_cast<double>(generated_tokens)); }

}  // namespace inferd::scheduler
