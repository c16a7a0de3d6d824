// Whether guessing pays beside so many sequences, by what steps took and what they gave. More sequences make a pass
// dearer for each guess that it checks, until plain steps are faster; where that begins depends on the machine, the
// model and the texts, so it is measured.
//
//   GuessingGain gain;
//   if (gain.Pays(/*sequences=*/4)) ...                          // let the drafter guess
//   gain.StepDone({.sequences = 4, .guesses = 12, .accepted = 9, .seconds = 0.031});
//
// For each number of sequences it compares the tokens a second of steps with guesses with those of plain ones. Both are
// tried at first; what does not pay is tried again after a pause, which doubles each time in vain, and what pays is
// compared with a plain step now and then. Steps in which a draft model only reads a text are an outlay: guesses may
// earn it later, but where the tokens lost by guessing come to more than so many plain steps, it pauses, too. A pure
// function of the calls: no clock.
#pragma once

#include <cstdint>
#include <map>

namespace inferd::engine {

class GuessingGain {
 public:
  struct Step {
    int64_t sequences = 0;
    int64_t guesses = 0, accepted = 0;
    bool drafted = false;  // a draft model has run; without, and with 0 guesses: a plain step
    double seconds = 0;    // with the guessing itself
  };

  static constexpr int64_t kLeastSteps = 4;   // of each kind, before it decides
  static constexpr int64_t kPlainEvery = 64;  // steps with guesses; then one is plain
  static constexpr int64_t kFirstPause = 64;  // plain steps before guessing is tried again
  static constexpr int64_t kLongestPause = 4096;
  static constexpr int64_t kMostLost = 128;  // plain steps' tokens, before it pauses

  // Whether the next step's sequences should get guesses.
  bool Pays(int64_t sequences) const;
  // A step without prompts.
  void StepDone(const Step& step);

 private:
  // Of the last steps, about twenty.
  struct Average {
    int64_t steps = 0;
    double seconds = 0, tokens = 0;  // of one step
    void Add(double step_seconds, double step_tokens);
    double rate() const { return tokens / seconds; }
  };
  struct Gain {
    Average plain, guessed;
    int64_t tries = 0;        // steps with guesses, or with a draft model's work for them, since the last pause
    int64_t tries_since = 0;  // of these, those since the last plain step
    double lost = 0;          // tokens that plain steps would have given in the time of tries beyond those they gave
    int64_t pause_left = 0;   // plain steps until guessing is tried again; 0: it is tried, or pays
    int64_t pause = 0;        // how long the last pause was; 0: it paid since
  };

  static void PlainDone(const Step& step, Gain& gain);
  static void TryDone(const Step& step, Gain& gain);

  std::map<int64_t, Gain> gains_;  // by number of sequences
};

}  // namespace inferd::engine
