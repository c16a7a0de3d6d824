// Recurrent layers: short convolution, selective scans and the gated delta rule. The formulas stand at their
// arguments in sequence_arguments.h.
#include <cmath>

#include "kernels/lanes/elementary.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {

void Convolve(const ConvolutionArguments& a) {
  for (int64_t channel = 0; channel < a.channels; ++channel) {
    for (int64_t t = 0; t < a.tokens; ++t) {
      float sum = 0.0f;
      for (int32_t j = 0; j + 1 < a.width; ++j) {
        sum = std::fma(a.taps[j * a.stride + channel], a.state[j * a.stride + channel], sum);
      }
      const float x = a.x[t * a.x_stride + channel];
      sum = std::fma(a.taps[(a.width - 1) * a.stride + channel], x, sum);
      if (a.bias != nullptr) sum = sum + a.bias[channel];
      a.out[t * a.out_stride + channel] = sum;
      for (int32_t j = 0; j + 2 < a.width; ++j) {
        a.state[j * a.stride + channel] = a.state[(j + 1) * a.stride + channel];
      }
      a.state[(a.width - 2) * a.stride + channel] = x;
    }
  }
}

void MambaScan(const MambaArguments& a) {
  for (int64_t channel = 0; channel < a.channels; ++channel) {
    for (int64_t t = 0; t < a.tokens; ++t) {
      const float x = a.x[t * a.x_stride + channel];
      const float dt = Softplus<Scalar>(a.dt[t * a.dt_stride + channel]);
      const float input = dt * x;
      float sum = 0.0f;
      for (int32_t n = 0; n < a.states; ++n) {
        float& h = a.state[n * a.stride + channel];
        h = std::fma(Exp<Scalar>(dt * a.a[n * a.stride + channel]), h, input * a.b[t * a.bc_stride + n]);
        sum = std::fma(h, a.c[t * a.bc_stride + n], sum);
      }
      a.out[t * a.out_stride + channel] = std::fma(a.d[channel], x, sum);
    }
  }
}

void Mamba2Scan(const Mamba2Arguments& a) {
  for (int64_t t = 0; t < a.tokens; ++t) {
    const float dt = Softplus<Scalar>(a.dt[t * a.dt_stride]);
    const float decay = Exp<Scalar>(dt * a.a);
    for (int32_t p = 0; p < a.head_dim; ++p) {
      const float x = a.x[t * a.x_stride + p];
      const float input = dt * x;
      float sum = 0.0f;
      for (int32_t n = 0; n < a.states; ++n) {
        float& h = a.state[static_cast<int64_t>(n) * a.head_dim + p];
        h = std::fma(decay, h, a.b[t * a.bc_stride + n] * input);
        sum = std::fma(a.c[t * a.bc_stride + n], h, sum);
      }
      a.out[t * a.out_stride + p] = std::fma(a.d, x, sum);
    }
  }
}

void DeltaRule(const DeltaArguments& a) {
  for (int64_t t = 0; t < a.tokens; ++t) {
    const float decay = Exp<Scalar>(a.log_decay[t * a.gate_stride]);
    const float beta = a.beta[t * a.gate_stride];
    const float* q = a.q + t * a.qk_stride;
    const float* k = a.k + t * a.qk_stride;
    for (int32_t column = 0; column < a.v_dim; ++column) {
      float* state = a.state + column;
      float recalled = 0.0f;
      for (int64_t row = 0; row < a.k_dim; ++row) {
        state[row * a.v_dim] = state[row * a.v_dim] * decay;
        recalled = std::fma(k[row], state[row * a.v_dim], recalled);
      }
      const float delta = (a.v[t * a.v_stride + column] - recalled) * beta;
      float sum = 0.0f;
      for (int64_t row = 0; row < a.k_dim; ++row) {
        state[row * a.v_dim] = std::fma(k[row], delta, state[row * a.v_dim]);
        sum = std::fma(q[row] * a.scale, state[row * a.v_dim], sum);
      }
      a.out[t * a.out_stride + column] = sum;
    }
  }
}

}  // namespace inferd::kernels::reference
