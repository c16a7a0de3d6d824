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
  int64_t guesses = 6;  // 0: the drafter has none

  void Step() {
    const bool guess = gain.Pays(sequences_) && guesses > 0;
    gain.StepDone({.sequences = sequences_,
                   .guesses = guess ? guesses : 0,
                   .accepted = guess ? accepted : 0,
                   .seconds = guess ? guessed_seconds : plain_seconds});
    ++(guess ? guessed : plain);
  }
  void Steps(int64_t count) {
    guessed = plain = 0;
    for (int64_t i = 0; i < count; ++i) Step();
  }

  GuessingGain gain;
  int64_t guessed = 0, plain = 0;

 private:
  const int64_t sequences_;
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

TEST(GuessingGain, EachNumberOfSequencesHasItsOwn) {
  Machine machine(16);
  machine.Steps(100);
  EXPECT_FALSE(machine.gain.Pays(16));
  EXPECT_TRUE(machine.gain.Pays(2));
}

}  // namespace
}  // namespace inferd::engine
