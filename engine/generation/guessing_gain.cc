// See the header.
#include "engine/generation/guessing_gain.h"

#include <algorithm>

namespace inferd::engine {
namespace {

constexpr double kLeastWeight = 0.05;

double MostLost(int64_t sequences) { return static_cast<double>(GuessingGain::kMostLost * sequences); }

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
  if (gain.tries < kLeastSteps) return true;
  return gain.plain.steps >= kLeastSteps && gain.tries_since < kPlainEvery;
}

void GuessingGain::StepDone(const Step& step) {
  if (step.sequences == 0 || !(step.seconds > 0)) return;
  Gain& gain = gains_[step.sequences];
  if (step.guesses == 0 && !step.drafted) {
    PlainDone(step, gain);
  } else {
    TryDone(step, gain);
  }
  if (gain.pause_left > 0 || gain.plain.steps < kLeastSteps) return;
  const bool compared = gain.guessed.steps >= kLeastSteps;
  if ((compared && gain.guessed.rate() < gain.plain.rate()) || gain.lost > MostLost(step.sequences)) {
    gain.pause = gain.pause_left = std::clamp(2 * gain.pause, kFirstPause, kLongestPause);
  } else if (compared && gain.lost == 0) {
    gain.pause = 0;
  }
}

void GuessingGain::PlainDone(const Step& step, Gain& gain) {
  gain.plain.Add(step.seconds, static_cast<double>(step.sequences));
  gain.tries_since = 0;
  if (gain.pause_left == 0 || --gain.pause_left > 0) return;
  gain.guessed = {};  // another text, another gain
  gain.tries = 0;
  gain.lost /= 2;  // so that the next try is shorter where this one was in vain
}

void GuessingGain::TryDone(const Step& step, Gain& gain) {
  const auto tokens = static_cast<double>(step.sequences + step.accepted);
  ++gain.tries;
  ++gain.tries_since;
  if (step.guesses > 0) gain.guessed.Add(step.seconds, tokens);
  if (gain.plain.steps < kLeastSteps) return;
  const double lost = gain.lost + step.seconds * gain.plain.rate() - tokens;
  gain.lost = std::clamp(lost, 0.0, 2 * MostLost(step.sequences));  // one long step is tried again after one pause
}

}  // namespace inferd::engine
