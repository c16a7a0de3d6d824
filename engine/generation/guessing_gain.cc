// See the header.
#include "engine/generation/guessing_gain.h"

#include <algorithm>

namespace inferd::engine {
namespace {

constexpr double kLeastWeight = 0.05;

}  // namespace

void GuessingGain::Average::Add(double step_seconds, double step_tokens) {
  const double weight = std::max(kLeastWeight, 1 / static_cast<double>(++steps));
  seconds += weight * (step_seconds - seconds);
  tokens += weight * (step_tokens - tokens);
}

bool GuessingGain::Pays(int64_t sequences) const {
  const auto found = gains_.find(sequences);
  if (found == gains_.end()) return true;
  const Gain& gain = found->second;
  if (gain.pause_left > 0) return false;
  if (gain.guessed.steps < kLeastSteps) return true;
  return gain.plain.steps >= kLeastSteps && gain.guessed_since < kPlainEvery;
}

void GuessingGain::StepDone(const Step& step) {
  if (step.sequences == 0 || !(step.seconds > 0)) return;
  Gain& gain = gains_[step.sequences];
  if (step.guesses == 0) {
    gain.plain.Add(step.seconds, static_cast<double>(step.sequences));
    gain.guessed_since = 0;
    if (gain.pause_left > 0 && --gain.pause_left == 0) gain.guessed = {};  // another text, another gain
  } else {
    gain.guessed.Add(step.seconds, static_cast<double>(step.sequences + step.accepted));
    ++gain.guessed_since;
  }
  if (gain.pause_left > 0 || gain.guessed.steps < kLeastSteps || gain.plain.steps < kLeastSteps) return;
  if (gain.guessed.rate() < gain.plain.rate()) {
    gain.pause = gain.pause_left = std::clamp(2 * gain.pause, kFirstPause, kLongestPause);
  } else {
    gain.pause = 0;
  }
}

}  // namespace inferd::engine
