// Exponential averages: about the last twenty steps or sequences, and the last five hundred tokens of prompts count (a
// token costs more the farther it is from the beginning of its text).
#include "engine/scheduler/rates.h"

#include <algorithm>

namespace inferd::scheduler {
namespace {

constexpr double kLeastWeight = 0.1;
constexpr double kPromptTokens = 512;
constexpr double kLeastShare = 0.1;  // of their steps' time that prompts take

}  // namespace

void Rates::Average::Add(double sample) {
  samples += 1;
  value += std::max(kLeastWeight, 1 / samples) * (sample - value);
}

Rates Rates::OfPasses(const PassTimes& times) {
  Rates rates;
  rates.decode_step_ = rates.stream_step_ = {.value = times.step_seconds, .samples = 1};
  rates.decode_streams_ = {.value = 1, .samples = 1};
  rates.prefill_tokens_ = static_cast<double>(times.tokens);
  rates.prefill_seconds_ = std::min(times.pass_seconds, times.step_seconds * rates.prefill_tokens_);
  return rates;
}

double Rates::StreamsBeyondMeasured(int64_t streams) const {
  return decode_streams_.samples > 0 ? std::max(static_cast<double>(streams) - decode_streams_.value, 0.0) : 0;
}

double Rates::decode_step_seconds(int64_t streams) const {
  return decode_step_.value + StreamsBeyondMeasured(streams) * prefill_seconds_per_token();
}

double Rates::prefill_seconds_per_token() const {
  if (prefill_tokens_ == 0) return 0;
  return std::max(prefill_seconds_, kLeastShare * prefill_step_seconds_) / prefill_tokens_;
}

void Rates::StepDone(const StepShape& shape, double seconds) {
  if (shape.decode_sequences > 0) stream_step_.Add(seconds);
  if (shape.prefill_tokens == 0) {
    if (shape.decode_sequences == 0) return;
    decode_step_.Add(seconds);
    decode_streams_.Add(static_cast<double>(shape.decode_sequences));
    return;
  }
  // Of a mixed step, the prompts and the streams beyond those measured share what it took longer than decoding alone:
  // less than nothing, now and then, for the time of a step scatters.
  const double decode = shape.decode_sequences > 0 ? decode_step_.value : 0;
  const double tokens = static_cast<double>(shape.prefill_tokens) + StreamsBeyondMeasured(shape.decode_sequences);
  const double kept = 1 / (1 + tokens / kPromptTokens);
  prefill_seconds_ = prefill_seconds_ * kept + seconds - decode;
  prefill_step_seconds_ = prefill_step_seconds_ * kept + seconds;
  prefill_tokens_ = prefill_tokens_ * kept + tokens;
}

void Rates::SequenceDone(int64_t generated_tokens) { generated_tokens_.Add(static_cast<double>(generated_tokens)); }

}  // namespace inferd::scheduler
