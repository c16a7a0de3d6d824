#include "engine/scheduler/rates.h"

#include <gtest/gtest.h>

namespace inferd::scheduler {
namespace {

TEST(Rates, NothingIsKnownBeforeAStep) {
  Rates rates;
  EXPECT_EQ(rates.decode_step_seconds(8), 0);
  EXPECT_EQ(rates.stream_seconds_per_token(), 0);
  EXPECT_EQ(rates.prefill_seconds_per_token(), 0);
}

TEST(Rates, StartFromTwoPasses) {
  const Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.06, .step_seconds = 0.03});
  EXPECT_DOUBLE_EQ(rates.decode_step_seconds(1), 0.03);
  EXPECT_DOUBLE_EQ(rates.stream_seconds_per_token(), 0.03);
  EXPECT_DOUBLE_EQ(rates.prefill_seconds_per_token(), 0.0075);
}

TEST(Rates, AFirstPassThatReadTheFileIsNotTakenForTheSpeed) {
  const Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 20, .step_seconds = 0.03});
  EXPECT_DOUBLE_EQ(rates.prefill_seconds_per_token(), 0.03);
}

TEST(Rates, StepsSoonCountMoreThanTheStart) {
  Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.8, .step_seconds = 0.1});
  rates.StepDone({.prefill_tokens = 256}, 0.256);
  EXPECT_LT(rates.prefill_seconds_per_token(), 0.005);
  for (int i = 0; i < 5; ++i) rates.StepDone({.decode_sequences = 1}, 0.01);
  EXPECT_LT(rates.decode_step_seconds(1), 0.03);
}

TEST(Rates, AMixedStepChargesItsPromptsWithWhatDecodingDoesNotExplain) {
  Rates rates;
  rates.StepDone({.decode_sequences = 4}, 0.02);
  rates.StepDone({.decode_sequences = 4, .prefill_tokens = 100}, 0.12);
  EXPECT_DOUBLE_EQ(rates.decode_step_seconds(4), 0.02);
  EXPECT_DOUBLE_EQ(rates.prefill_seconds_per_token(), 0.001);
  EXPECT_DOUBLE_EQ(rates.stream_seconds_per_token(), 0.07);
}

TEST(Rates, StreamsThatBecameMoreSinceAStepWithoutPromptsAreNotTakenForTheCostOfPrompts) {
  Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.012, .step_seconds = 0.005});
  for (int i = 0; i < 500; ++i) rates.StepDone({.decode_sequences = 9, .prefill_tokens = 4}, 0.005 + 12 * 0.001);
  EXPECT_NEAR(rates.prefill_seconds_per_token(), 0.001, 0.0001);
  EXPECT_NEAR(rates.decode_step_seconds(9), 0.013, 0.001);
  EXPECT_DOUBLE_EQ(rates.decode_step_seconds(1), 0.005);
}

TEST(Rates, StreamsThatBecameFewerAreNotTakenForCheapPrompts) {
  Rates rates;
  const auto seconds = [](int64_t rows) { return 0.025 + 0.005 * static_cast<double>(rows); };
  for (int i = 0; i < 40; ++i) rates.StepDone({.decode_sequences = 16}, seconds(16));
  for (int i = 0; i < 10; ++i) rates.StepDone({.decode_sequences = 16, .prefill_tokens = 10}, seconds(26));
  for (int i = 0; i < 300; ++i) rates.StepDone({.decode_sequences = 1, .prefill_tokens = 20}, seconds(21));
  EXPECT_NEAR(rates.prefill_seconds_per_token(), 0.005, 0.0005);
  EXPECT_NEAR(rates.decode_step_seconds(1), seconds(1), 0.005);
}

TEST(Rates, GuessesAreRowsOfAStepAndTokensOfItsStreams) {
  Rates rates;
  rates.StepDone({.decode_sequences = 2, .draft_tokens = 6}, 0.04);
  rates.StreamsAdvanced(2, 8);
  rates.StepDone({.decode_sequences = 8, .prefill_tokens = 100}, 0.14);
  EXPECT_DOUBLE_EQ(rates.prefill_seconds_per_token(), 0.001);
  EXPECT_NEAR(rates.decode_step_seconds(2), 0.034, 1e-9);
  for (int i = 0; i < 100; ++i) rates.StreamsAdvanced(2, 8);
  for (int i = 0; i < 100; ++i) rates.StepDone({.decode_sequences = 2, .draft_tokens = 6}, 0.04);
  EXPECT_NEAR(rates.stream_seconds_per_token(), 0.01, 0.001);
}

TEST(Rates, TimesThatScatterDoNotMakePromptsSeemDear) {
  Rates rates;
  for (int i = 0; i < 200; ++i) rates.StepDone({.decode_sequences = 8}, i % 2 == 0 ? 0.015 : 0.025);
  for (int i = 0; i < 500; ++i) {
    rates.StepDone({.decode_sequences = 8, .prefill_tokens = 4}, (i % 2 == 0 ? 0.015 : 0.025) + 0.004);
  }
  EXPECT_NEAR(rates.prefill_seconds_per_token(), 0.001, 0.0003);
}

TEST(Rates, PromptsNeverCostNothing) {
  Rates rates;
  rates.StepDone({.decode_sequences = 8}, 0.1);
  rates.StepDone({.decode_sequences = 8, .prefill_tokens = 100}, 0.02);
  EXPECT_DOUBLE_EQ(rates.prefill_seconds_per_token(), 0.00002);
}

TEST(Rates, APromptsLastTokenSaysLittleOfTheSpeedOfPrompts) {
  Rates rates;
  rates.StepDone({.prefill_tokens = 256}, 0.256);
  rates.StepDone({.prefill_tokens = 1}, 0.02);  // reads all weights for one token
  EXPECT_NEAR(rates.prefill_seconds_per_token(), 0.00107, 0.00001);
}

TEST(Rates, TinyPromptsDoNotMakeLongOnesSeemDear) {
  Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.01, .step_seconds = 0.006});
  for (int i = 0; i < 40; ++i) {
    rates.StepDone({.prefill_tokens = 2}, 0.0065);
    rates.StepDone({.decode_sequences = 1}, 0.006);
  }
  EXPECT_LT(rates.prefill_seconds_per_token(), 0.0007);
  EXPECT_GT(rates.prefill_seconds_per_token(), 0.0002);
}

TEST(Rates, FollowAChangeOfSpeed) {
  Rates rates;
  for (int i = 0; i < 10; ++i) rates.StepDone({.decode_sequences = 1}, 1.0);
  for (int i = 0; i < 60; ++i) rates.StepDone({.decode_sequences = 1}, 0.1);
  EXPECT_NEAR(rates.decode_step_seconds(1), 0.1, 0.01);
}

TEST(Rates, LearnHowMuchSequencesGenerate) {
  Rates rates;
  EXPECT_GT(rates.generated_tokens(), 0);
  for (int i = 0; i < 60; ++i) rates.SequenceDone(16);
  EXPECT_NEAR(rates.generated_tokens(), 16, 1);
}

}  // namespace
}  // namespace inferd::scheduler
