#include "engine/scheduler/rates.h"

#include <gtest/gtest.h>

namespace inferd::scheduler {
namespace {

TEST(Rates, NothingIsKnownBeforeAStep) {
  Rates rates;
  EXPECT_EQ(rates.decode_step_seconds(), 0);
  EXPECT_EQ(rates.prefill_seconds_per_token(), 0);
}

TEST(Rates, AMixedStepChargesItsPromptsWithWhatDecodingDoesNotExplain) {
  Rates rates;
  rates.StepDone({.decode_sequences = 4}, 0.02);
  rates.StepDone({.decode_sequences = 4, .prefill_tokens = 100}, 0.12);
  EXPECT_DOUBLE_EQ(rates.decode_step_seconds(), 0.02);
  EXPECT_DOUBLE_EQ(rates.prefill_seconds_per_token(), 0.001);
}

TEST(Rates, FollowAChangeOfSpeed) {
  Rates rates;
  for (int i = 0; i < 10; ++i) rates.StepDone({.decode_sequences = 1}, 1.0);
  for (int i = 0; i < 60; ++i) rates.StepDone({.decode_sequences = 1}, 0.1);
  EXPECT_NEAR(rates.decode_step_seconds(), 0.1, 0.01);
}

}  // namespace
}  // namespace inferd::scheduler
