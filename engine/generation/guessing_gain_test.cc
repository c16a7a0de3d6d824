#include "engine/generation/guessing_gain.h"

#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

// Steps of one number of sequences, whose seconds a machine of the test's making gives.
class Machine {
 public:
  explicit Machine(int64_t sequences) : sequences_(sequences) {}

  double plain_seconds = 0.010;
  double guessed_seconds = 0.015;
  int64_t accepted = 4;
  int64_t guesses = 6;          // 0: the drafter has none
  int64_t steps_to_read = 0;    // that a draft model needs for a text before it guesses
  double reading_seconds = 0;   // of each of these
  int64_t tokens_of_text = -1;  // then another begins, to be read

  void Step() {
    const bool pays = gain.Pays(sequences_);
    if (pays && to_read_ > 0) {
      --to_read_;
      Done({.sequences = sequences_, .drafted = true, .seconds = reading_seconds}, reading);
    } else if (pays && guesses > 0) {
      Done({.sequences = sequences_, .guesses = guesses, .accepted = accepted, .seconds = guessed_seconds}, guessed);
    } else {
      Done({.sequences = sequences_, .seconds = plain_seconds}, plain);
    }
  }
  void Steps(int64_t count) {
    guessed = plain = reading = 0;
    seconds = tokens = 0;
    for (int64_t i = 0; i < count; ++i) Step();
  }
  void BeginText() {
    to_read_ = steps_to_read;
    tokens_left_ = tokens_of_text;
  }

  GuessingGain gain;
  int64_t guessed = 0, plain = 0, reading = 0;
  double seconds = 0, tokens = 0;

 private:
  void Done(const GuessingGain::Step& step, int64_t& count) {
    gain.StepDone(step);
    ++count;
    seconds += step.seconds;
    tokens += static_cast<double>(step.sequences + step.accepted);
    if (tokens_of_text > 0 && (tokens_left_ -= 1 + step.accepted) <= 0) BeginText();
  }

  const int64_t sequences_;
  int64_t to_read_ = 0, tokens_left_ = 0;
};

TEST(GuessingGain, TriesBothBeforeItDecides) {
  Machine machine(1);
  for (int i = 0; i < GuessingGain::kLeastSteps; ++i) {
    EXPECT_TRUE(machine.gain.Pays(1));
    machine.Step();
  }
  for (int i = 0; i < GuessingGain::kLeastSteps; ++i) {
    EXPECT_FALSE(machine.gain.Pays(1));
    machine.Step();
  }
  EXPECT_TRUE(machine.gain.Pays(1));
}

TEST(GuessingGain, GoesOnWhereItPaysAndComparesNowAndThen) {
  Machine machine(1);  // five tokens in 15 ms against one in 10
  machine.Steps(1000);
  EXPECT_EQ(machine.plain,
            GuessingGain::kLeastSteps + (1000 - GuessingGain::kLeastSteps) / (GuessingGain::kPlainEvery + 1));
}

TEST(GuessingGain, StopsWhereGuessesAreRightAndYetCostMore) {
  Machine machine(16);  // 20 tokens in 15 ms against 16 in 10
  machine.Steps(1000);
  EXPECT_LT(machine.guessed, 25);
  machine.Steps(10'000);
  EXPECT_LT(machine.guessed, 25) << "trials become rarer";
  EXPECT_GT(machine.guessed, 0) << "and never end";
}

TEST(GuessingGain, StopsWhereGuessesAreWrong) {
  Machine machine(1);
  machine.accepted = 0;
  machine.Steps(1000);
  EXPECT_LT(machine.guessed, 25);
}

TEST(GuessingGain, BeginsAgainWhenTheTextGetsEasier) {
  Machine machine(1);
  machine.accepted = 0;
  machine.Steps(300);
  machine.accepted = 5;
  machine.Steps(300);
  EXPECT_GT(machine.guessed, 100);
  machine.Steps(1000);
  EXPECT_GT(machine.guessed, 950);
}

TEST(GuessingGain, StopsWhenTheMachineGetsSlower) {
  Machine machine(4);
  machine.Steps(200);
  EXPECT_GT(machine.guessed, 150);
  machine.guessed_seconds = 0.1;
  machine.Steps(1000);
  EXPECT_LT(machine.guessed, 60);
}

TEST(GuessingGain, PlainStepsForWantOfGuessesCountAsPlain) {
  Machine machine(1);
  machine.guesses = 0;
  machine.Steps(100);
  EXPECT_TRUE(machine.gain.Pays(1));
  machine.guesses = 6;
  machine.Steps(60);
  EXPECT_EQ(machine.plain, 0);
}

TEST(GuessingGain, StopsWhereADraftModelOnlyReads) {
  Machine machine(1);
  machine.steps_to_read = 1'000'000;
  machine.reading_seconds = 0.070;  // each loses six tokens
  machine.BeginText();
  machine.Steps(1000);
  EXPECT_LT(machine.reading, 100);
  machine.Steps(10'000);
  EXPECT_LT(machine.reading, 100) << "trials become rarer";
  EXPECT_GT(machine.reading, 0) << "and never end";
}

TEST(GuessingGain, ADraftModelMayReadALongTextFirst) {
  Machine machine(1);
  machine.steps_to_read = 20;
  machine.reading_seconds = 0.060;
  machine.BeginText();
  machine.Steps(1000);
  EXPECT_EQ(machine.reading, 20);
  EXPECT_GT(machine.guessed, 900);
}

TEST(GuessingGain, StopsWhereAnswersAreTooShortForWhatTheirPromptsCost) {
  Machine machine(1);
  machine.steps_to_read = 10;
  machine.reading_seconds = 0.070;
  machine.tokens_of_text = 30;  // four steps with guesses: 0.76 s an answer, and 0.3 s without
  machine.BeginText();
  machine.Steps(30'000);
  EXPECT_LT(machine.seconds / machine.tokens, 1.1 * machine.plain_seconds);
}

TEST(GuessingGain, EachNumberOfSequencesHasItsOwn) {
  Machine machine(16);
  machine.Steps(100);
  EXPECT_FALSE(machine.gain.Pays(16));
  EXPECT_TRUE(machine.gain.Pays(2));
}

}  // namespace
}  // namespace inferd::engine
