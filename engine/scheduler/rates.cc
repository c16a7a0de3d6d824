// Exponential averages: about the last twenty steps or sequences, and the last five hundred tokens of prompts count (a
// token costs more the farther it is from the beginning of its text).
#include "engine/scheduler/rates.h"

#include <algorithm>

namespace inferd::scheduler {
namespace {

constexpr double kLeastWeight = 0.1;
constexpr double kPromptTokens = 512;
constexpr int64_t kFewTokens = 32;
constexpr double kLeastShare = 0.1;         // of their steps' time that prompts take
constexpr double kLeastStreamTokens = 0.5;  // fewer than one come of sequences that end

}  // namespace

void Rates::Average::Add(double sample) {
  samples += 1;
  value += std::max(kLeastWeight, 1 / samples) * (sample - value);
}

Rates Rates::OfPasses(const PassTimes& times) {
  Rates rates;
  rates.decode_step_ = rates.stream_step_ = {.value = times.step_seconds, .samples = 1};
  rates.decode_rows_ = {.value = 1, .samples = 1};
  rates.prefill_tokens_ = static_cast<double>(times.tokens);
  rates.prefill_seconds_ = std::min(times.pass_seconds, times.step_seconds * rates.prefill_tokens_);
  return rates;
}

// Twice the rows take longer, but not twice as long: the weights are read once.
double Rates::decode_step_seconds(int64_t streams) const {
  if (decode_rows_.samples == 0) return decode_step_.value;
  const double rows = static_cast<double>(streams);
  const double in_proportion = decode_step_.value * rows / decode_rows_.value;
  const double by_row = decode_step_.value + (rows - decode_rows_.value) * prefill_seconds_per_token();
  return std::clamp(by_row, std::min(in_proportion, decode_step_.value), std::max(in_proportion, decode_step_.value));
}

double Rates::prefill_seconds_per_token() const {
  if (prefill_tokens_ == 0) return 0;
  return std::max(prefill_seconds_, kLeastShare * prefill_step_seconds_) / prefill_tokens_;
}

void Rates::StepDone(const StepShape& shape, double seconds) {
  if (shape.decode_sequences > 0) stream_step_.Add(seconds);
  const int64_t rows = shape.decode_sequences + shape.draft_tokens;
  if (shape.prefill_tokens == 0) {
    if (rows == 0) return;
    decode_step_.Add(seconds);
    decode_rows_.Add(static_cast<double>(rows));
    return;
  }
  // Of a mixed step, the prompts and the rows beyond those measured share what it took longer than decoding alone: less
  // than nothing, now and then, for the time of a step scatters.
  const double beyond = decode_rows_.samples > 0 ? static_cast<double>(rows) - decode_rows_.value : 0;
  // A few tokens alone tell what a step costs, whatever is in it, rather than what they do.
  const double alone = shape.prefill_tokens < kFewTokens ? decode_step_seconds(1) : 0;
  const double decode = rows == 0 ? alone : beyond > 0 ? decode_step_.value : decode_step_seconds(rows);
  const double tokens = static_cast<double>(shape.prefill_tokens) + std::max(beyond, 0.0);
  knows_prompts_ = knows_prompts_ || shape.prefill_tokens >= kFewTokens;
  const double kept = 1 / (1 + tokens / kPromptTokens);
  prefill_seconds_ = prefill_seconds_ * kept + seconds - decode;
  prefill_step_seconds_ = prefill_step_seconds_ * kept + seconds;
  prefill_tokens_ = prefill_tokens_ * kept + tokens;
}

void Rates::StreamsAdvanced(int64_t streams, int64_t tokens) {
  if (streams > 0) stream_tokens_.Add(static_cast<double>(tokens) / static_cast<double>(streams));
}

double Rates::stream_seconds_per_token() const {
  return stream_step_.value / std::max(stream_tokens_.value, kLeastStreamTokens);
}

void Rates::SequenceDone(int64_t generated_tokens) { generated_tokens_.Add(static_cast<double>(generated_tokens)); }

}  // namespace inferd::scheduler
