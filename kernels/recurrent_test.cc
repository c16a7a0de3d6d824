// Recurrent kernels and expert routing: the reference against double precision, the others against it with ==.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/kernel_testing.h"

namespace inferd::kernels {
namespace {

// What a kernel that walks a sequence leaves: its outputs, then its state.
struct Walk {
  std::vector<float> out, state;
};

// Runs the tokens at once and in two parts, in every variant: all must be the same. `run(kernels, first, count, walk)`.
Walk SameInEveryVariant(int64_t tokens, const Walk& start,
                        const std::function<void(const Kernels&, int64_t, int64_t, Walk&)>& run) {
  Walk expected = start;
  run(*SelectKernels("reference"), 0, tokens, expected);
  for (const Kernels* kernels : RunnableVariants()) {
    for (const int64_t split : {tokens, tokens / 2}) {
      Walk walk = start;
      if (split > 0) run(*kernels, 0, split, walk);
      if (split < tokens) run(*kernels, split, tokens - split, walk);
      EXPECT_EQ(walk.out, expected.out) << kernels->name;
      EXPECT_EQ(walk.state, expected.state) << kernels->name;
    }
  }
  return expected;
}

double Softplus(double x) { return std::log1p(std::exp(x)); }

TEST(Convolve, MatchesDoublePrecisionAndKeepsItsState) {
  for (const int64_t channels : {1, 15, 16, 33, 100}) {
    for (const int32_t width : {2, 3, 4}) {
      const int64_t tokens = 7, stride = channels + 3;
      const auto taps = Random(1, static_cast<size_t>(width * stride)), bias = Random(2, static_cast<size_t>(channels));
      const auto x = Random(3, static_cast<size_t>(tokens * stride));
      const Walk start = {std::vector<float>(x.size()), Random(4, static_cast<size_t>((width - 1) * stride))};
      for (const bool biased : {true, false}) {
        const Walk result =
            SameInEveryVariant(tokens, start, [&](const Kernels& k, int64_t first, int64_t count, Walk& walk) {
              k.convolve({.channels = channels,
                          .stride = stride,
                          .width = width,
                          .taps = taps.data(),
                          .bias = biased ? bias.data() : nullptr,
                          .state = walk.state.data(),
                          .tokens = count,
                          .x = x.data() + first * stride,
                          .x_stride = stride,
                          .out = walk.out.data() + first * stride,
                          .out_stride = stride});
            });
        const auto input = [&](int64_t t, int64_t c) {
          return static_cast<double>(t < 0 ? start.state[static_cast<size_t>((width - 1 + t) * stride + c)]
                                           : x[static_cast<size_t>(t * stride + c)]);
        };
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t t = 0; t < tokens; ++t) {
            double sum = biased ? bias[static_cast<size_t>(c)] : 0;
            for (int32_t j = 0; j < width; ++j) {
              sum += taps[static_cast<size_t>(j * stride + c)] * input(t - width + 1 + j, c);
            }
            ASSERT_NEAR(result.out[static_cast<size_t>(t * stride + c)], sum, 2e-6);
          }
          for (int64_t j = 0; j + 1 < width; ++j) {
            ASSERT_EQ(result.state[static_cast<size_t>(j * stride + c)], input(tokens - width + 1 + j, c));
          }
        }
      }
    }
  }
}

TEST(MambaScan, MatchesDoublePrecision) {
  for (const int64_t channels : {1, 16, 21, 64}) {
    const int64_t tokens = 5, stride = channels + 2;
    const int32_t states = 16;
    auto a = Random(1, static_cast<size_t>(states * stride));
    for (float& value : a) value = -std::fabs(value);
    const auto d = Random(2, static_cast<size_t>(channels)), x = Random(3, static_cast<size_t>(tokens * stride)),
               dt = Random(4, static_cast<size_t>(tokens * stride)), b = Random(5, static_cast<size_t>(tokens * 16)),
               c = Random(6, static_cast<size_t>(tokens * 16));
    const Walk start = {std::vector<float>(x.size()), Random(7, static_cast<size_t>(states * stride))};
    const Walk result =
        SameInEveryVariant(tokens, start, [&](const Kernels& k, int64_t first, int64_t count, Walk& walk) {
          k.mamba_scan({.channels = channels,
                        .stride = stride,
                        .states = states,
                        .a = a.data(),
                        .d = d.data(),
                        .state = walk.state.data(),
                        .tokens = count,
                        .x = x.data() + first * stride,
                        .x_stride = stride,
                        .dt = dt.data() + first * stride,
                        .dt_stride = stride,
                        .b = b.data() + first * states,
                        .c = c.data() + first * states,
                        .bc_stride = states,
                        .out = walk.out.data() + first * stride,
                        .out_stride = stride});
        });
    for (int64_t channel = 0; channel < channels; ++channel) {
      double h[16];
      for (int64_t n = 0; n < states; ++n) h[n] = start.state[static_cast<size_t>(n * stride + channel)];
      for (int64_t t = 0; t < tokens; ++t) {
        const size_t at = static_cast<size_t>(t * stride + channel);
        const double step = Softplus(dt[at]);
        double y = d[static_cast<size_t>(channel)] * x[at];
        for (int64_t n = 0; n < states; ++n) {
          h[n] = std::exp(step * a[static_cast<size_t>(n * stride + channel)]) * h[n] +
                 step * x[at] * b[static_cast<size_t>(t * states + n)];
          y += h[n] * c[static_cast<size_t>(t * states + n)];
        }
        ASSERT_NEAR(result.out[at], y, 2e-5);
      }
    }
  }
}

TEST(Mamba2Scan, MatchesDoublePrecision) {
  for (const int32_t head_dim : {1, 16, 40, 64}) {
    const int64_t tokens = 5, stride = head_dim + 2, states = 32;
    const auto x = Random(3, static_cast<size_t>(tokens * stride)), dt = Random(4, static_cast<size_t>(tokens * 3)),
               b = Random(5, static_cast<size_t>(tokens * states)), c = Random(6, static_cast<size_t>(tokens * states));
    const Walk start = {std::vector<float>(x.size()), Random(7, static_cast<size_t>(states * head_dim))};
    const Walk result =
        SameInEveryVariant(tokens, start, [&](const Kernels& k, int64_t first, int64_t count, Walk& walk) {
          k.mamba2_scan({.head_dim = head_dim,
                         .states = static_cast<int32_t>(states),
                         .a = -0.7f,
                         .d = 1.3f,
                         .state = walk.state.data(),
                         .tokens = count,
                         .x = x.data() + first * stride,
                         .x_stride = stride,
                         .dt = dt.data() + first * 3,
                         .dt_stride = 3,
                         .b = b.data() + first * states,
                         .c = c.data() + first * states,
                         .bc_stride = states,
                         .out = walk.out.data() + first * stride,
                         .out_stride = stride});
        });
    for (int64_t p = 0; p < head_dim; ++p) {
      std::vector<double> h;
      for (int64_t n = 0; n < states; ++n) h.push_back(start.state[static_cast<size_t>(n * head_dim + p)]);
      for (int64_t t = 0; t < tokens; ++t) {
        const double step = Softplus(dt[static_cast<size_t>(t * 3)]), input = x[static_cast<size_t>(t * stride + p)];
        double y = 1.3f * input;
        for (size_t n = 0; n < h.size(); ++n) {
          const size_t at = static_cast<size_t>(t * states) + n;
          h[n] = std::exp(step * -0.7f) * h[n] + step * input * b[at];
          y += h[n] * c[at];
        }
        ASSERT_NEAR(result.out[static_cast<size_t>(t * stride + p)], y, 5e-5);
      }
    }
  }
}

TEST(DeltaRule, MatchesDoublePrecision) {
  for (const int32_t v_dim : {1, 16, 40, 128}) {
    const int32_t k_dim = 24;
    const int64_t tokens = 6, stride = v_dim + 1;
    const auto q = Random(1, static_cast<size_t>(tokens * k_dim)),
               k = Random(2, static_cast<size_t>(tokens * k_dim), 0.2f),
               v = Random(3, static_cast<size_t>(tokens * stride)), beta = Random(5, static_cast<size_t>(tokens), 0.3f);
    auto decay = Random(4, static_cast<size_t>(tokens));
    for (float& value : decay) value = -std::fabs(value);
    const Walk start = {std::vector<float>(v.size()), Random(6, static_cast<size_t>(k_dim * v_dim))};
    const Walk result =
        SameInEveryVariant(tokens, start, [&](const Kernels& kernels, int64_t first, int64_t count, Walk& walk) {
          kernels.delta_rule({.k_dim = k_dim,
                              .v_dim = v_dim,
                              .scale = 0.25f,
                              .state = walk.state.data(),
                              .tokens = count,
                              .q = q.data() + first * k_dim,
                              .k = k.data() + first * k_dim,
                              .qk_stride = k_dim,
                              .v = v.data() + first * stride,
                              .v_stride = stride,
                              .log_decay = decay.data() + first,
                              .beta = beta.data() + first,
                              .gate_stride = 1,
                              .out = walk.out.data() + first * stride,
                              .out_stride = stride});
        });
    std::vector<double> state(start.state.begin(), start.state.end());
    for (int64_t t = 0; t < tokens; ++t) {
      const float* k_row = k.data() + t * k_dim;
      const float* q_row = q.data() + t * k_dim;
      for (int32_t column = 0; column < v_dim; ++column) {
        double recalled = 0, y = 0;
        for (int32_t row = 0; row < k_dim; ++row) {
          double& s = state[static_cast<size_t>(row * v_dim + column)];
          s *= std::exp(decay[static_cast<size_t>(t)]);
          recalled += k_row[row] * s;
        }
        const double delta = beta[static_cast<size_t>(t)] * (v[static_cast<size_t>(t * stride + column)] - recalled);
        for (int32_t row = 0; row < k_dim; ++row) {
          double& s = state[static_cast<size_t>(row * v_dim + column)];
          s += k_row[row] * delta;
          y += 0.25 * q_row[row] * s;
        }
        ASSERT_NEAR(result.out[static_cast<size_t>(t * stride + column)], y, 2e-5);
      }
    }
  }
}

}  // namespace
}  // namespace inferd::kernels
