#include "engine/sampling/sampling_options.h"

#include <gtest/gtest.h>

#include <cmath>

#include "config/base/status.h"

namespace inferd::sampling {
namespace {

TEST(SamplingOptions, DefaultsAndLimitsAreValid) {
  EXPECT_TRUE(Validate({}, 10).ok());
  EXPECT_TRUE(Validate({.temperature = 2,
                        .top_k = 1 << 30,
                        .top_p = 1e-9f,
                        .min_p = 1,
                        .typical_p = 1e-9f,
                        .presence_penalty = -2,
                        .frequency_penalty = 2,
                        .repeat_penalty = 10,
                        .repeat_last_n = -1,
                        .logit_bias = {{0, -100.0f}, {9, 100.0f}}},
                       10)
                  .ok());
}

TEST(SamplingOptions, AnErrorNamesTheFieldTheValueAndTheRange) {
  const float nan = std::nanf("");
  const struct {
    SamplingOptions options;
    const char* message;
  } cases[] = {
      {{.temperature = -0.5f}, "temperature: -0.5 is not in [0, 2]"},
      {{.temperature = nan}, "temperature: nan is not in [0, 2]"},
      {{.temperature = HUGE_VALF}, "temperature: inf is not in [0, 2]"},
      {{.top_p = 0}, "top_p: 0 is not in (0, 1]"},
      {{.top_p = 1.5f}, "top_p: 1.5 is not in (0, 1]"},
      {{.min_p = -1}, "min_p: -1 is not in [0, 1]"},
      {{.typical_p = 0}, "typical_p: 0 is not in (0, 1]"},
      {{.presence_penalty = 2.5f}, "presence_penalty: 2.5 is not in [-2, 2]"},
      {{.frequency_penalty = nan}, "frequency_penalty: nan is not in [-2, 2]"},
      {{.repeat_penalty = 0}, "repeat_penalty: 0 is not in (0, 10]"},
      {{.top_k = -1}, "top_k: -1 is not 0 (off) or more"},
      {{.repeat_last_n = -2}, "repeat_last_n: -2 is less than -1"},
      {{.logit_bias = {{10, 1.0f}}}, "logit_bias: token 10 is not in the vocabulary of 10"},
      {{.logit_bias = {{-1, 1.0f}}}, "logit_bias: token -1 is not in the vocabulary of 10"},
      {{.logit_bias = {{3, 101.0f}}}, "logit_bias: 101 of token 3 is not in [-100, 100]"},
      {{.logit_bias = {{3, nan}}}, "logit_bias: nan of token 3 is not in [-100, 100]"},
  };
  for (const auto& c : cases) EXPECT_EQ(MessageOf(Validate(c.options, 10)), c.message);
}

}  // namespace
}  // namespace inferd::sampling
