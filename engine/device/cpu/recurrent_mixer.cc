#include "engine/device/cpu/recurrent_mixer.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "config/base/status.h"
#include "engine/device/recurrent_shape.h"

namespace inferd::device {
namespace {

using kernels::Activation;

constexpr int64_t kChannels = 64;  // of one item

}  // namespace

absl::Status RecurrentMixer::Allocate() {
  int64_t width = 0, selected = 0, inner = 0;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::RecurrentSpec& r = layer.recurrent;
    if (!Has(layer)) continue;
    width = std::max(width, RecurrentWidth(r));
    inner = std::max(inner, r.inner);
    if (r.kind == model::RecurrentKind::kMamba) selected = std::max({selected, r.inner, r.heads});
  }
  ASSIGN_OR_RETURN(parts_, TakeRows(width));
  ASSIGN_OR_RETURN(selected_, TakeActivations(most_rows(), selected));
  ASSIGN_OR_RETURN(inner_, TakeActivations(most_rows(), inner));
  return absl::OkStatus();
}

Formats RecurrentMixer::InputFormats(int32_t layer) const {
  const model::RecurrentWeights& w = weights_.layers[layer].recurrent;
  return Formats::Of({&w.in, &w.gate, &w.alpha, &w.beta, &w.beta_alpha});
}

void RecurrentMixer::Run(int32_t layer, const Activations& input) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::RecurrentSpec& r = spec_.layers[layer].recurrent;
  inner_.formats = Formats::Of({&w.recurrent.out});
  inner_.k = r.inner;
  switch (r.kind) {
    case model::RecurrentKind::kShortConvolution:
      MixShortConvolution(layer, input);
      break;
    case model::RecurrentKind::kMamba:
      MixMamba(layer, input);
      break;
    case model::RecurrentKind::kMamba2:
      MixMamba2(layer, input);
      break;
    case model::RecurrentKind::kGatedDeltaNet:
      MixDeltaNet(layer, input);
      break;
    case model::RecurrentKind::kNone:
      return;
  }
  stream_.AddProduct(inner_, w.recurrent.out, w.after_mixer, w.after_mixer_sum);
}

// task(sequence, part, thread) for each sequence and each of `parts`.
template <typename Task>
void RecurrentMixer::ForSequenceParts(int64_t parts, Task task) {
  pool_.Run(static_cast<int64_t>(batch_.sequences().size()) * parts,
            [&](int64_t item, int32_t thread) { task(batch_.sequences()[item / parts], item % parts, thread); });
}

// out [rows][channels] = convolution of x, with SiLU where the mixer has it.
void RecurrentMixer::Convolve(int32_t layer, int64_t channels, const float* x, int64_t x_stride, bool silu,
                              float* out) {
  const model::RecurrentWeights& w = weights_.layers[layer].recurrent;
  ForSequenceParts((channels + kChannels - 1) / kChannels, [&](const BatchSequence& sequence, int64_t part, int32_t) {
    const int64_t c = part * kChannels, n = std::min(kChannels, channels - c);
    float* y = out + sequence.row_begin * channels + c;
    k_.convolve({.channels = n,
                 .stride = channels,
                 .width = static_cast<int32_t>(spec_.layers[layer].recurrent.convolution),
                 .taps = w.convolution + c,
                 .bias = w.convolution_bias == nullptr ? nullptr : w.convolution_bias + c,
                 .state = batch_.StateOf(layer, sequence) + c,
                 .tokens = sequence.tokens,
                 .x = x + sequence.row_begin * x_stride + c,
                 .x_stride = x_stride,
                 .out = y,
                 .out_stride = channels});
    for (int64_t token = 0; silu && token < sequence.tokens; ++token) {
      k_.activate(Activation::kSilu, y + token * channels, n, y + token * channels);
    }
  });
}

void RecurrentMixer::MixShortConvolution(int32_t layer, const Activations& input) {
  const model::RecurrentWeights& w = weights_.layers[layer].recurrent;
  const int64_t n = spec_.layers[layer].recurrent.inner;
  float *bcx = parts_, *gated = bcx + rows() * 3 * n, *convolved = gated + rows() * n;
  const Product in{&w.in, bcx, 3 * n};
  products_.Multiply(input, rows(), {&in, 1});
  ForRows([&](int64_t row, int32_t) {
    const float *b = bcx + row * 3 * n, *x = b + 2 * n;
    k_.multiply(b, x, n, gated + row * n);
  });
  Convolve(layer, n, gated, n, /*silu=*/false, convolved);
  ForRows([&](int64_t row, int32_t) {
    float* y = convolved + row * n;
    k_.multiply(bcx + row * 3 * n + n, y, n, y);
    products_.Store(inner_, row, y);
  });
}

void RecurrentMixer::MixMamba(int32_t layer, const Activations& input) {
  const model::RecurrentWeights& w = weights_.layers[layer].recurrent;
  const model::RecurrentSpec& r = spec_.layers[layer].recurrent;
  const int64_t n = r.inner, selected = r.heads + 2 * r.state;
  float *xz = parts_, *x = xz + rows() * 2 * n, *dt = x + rows() * n, *dt_b_c = dt + rows() * n;
  const Product in{&w.in, xz, 2 * n};
  products_.Multiply(input, rows(), {&in, 1});
  Convolve(layer, n, xz, 2 * n, /*silu=*/true, x);

  selected_.formats = Formats::Of({&w.x});
  selected_.k = n;
  ForRows([&](int64_t row, int32_t) { products_.Store(selected_, row, x + row * n); });
  const Product select{&w.x, dt_b_c, selected};
  products_.Multiply(selected_, rows(), {&select, 1});
  selected_.formats = Formats::Of({&w.dt});
  selected_.k = r.heads;
  ForRows([&](int64_t row, int32_t) {
    float *own = dt_b_c + row * selected, *b = own + r.heads, *c = b + r.state;
    if (w.dt_norm.present) ApplyNorm(w.dt_norm, own, r.heads, own);
    if (w.b_norm.present) ApplyNorm(w.b_norm, b, r.state, b);
    if (w.c_norm.present) ApplyNorm(w.c_norm, c, r.state, c);
    products_.Store(selected_, row, own);
  });
  const Product step{&w.dt, dt, n};
  products_.Multiply(selected_, rows(), {&step, 1});

  ForSequenceParts((n + kChannels - 1) / kChannels, [&](const BatchSequence& sequence, int64_t part, int32_t) {
    const int64_t c = part * kChannels, at = sequence.row_begin * n + c;
    const float* b = dt_b_c + sequence.row_begin * selected + r.heads;
    k_.mamba_scan({.channels = std::min(kChannels, n - c),
                   .stride = n,
                   .states = static_cast<int32_t>(r.state),
                   .a = w.a + c,
                   .d = w.d + c,
                   .state = batch_.StateOf(layer, sequence) + ConvolutionStateSize(r) + c,
                   .tokens = sequence.tokens,
                   .x = x + at,
                   .x_stride = n,
                   .dt = dt + at,
                   .dt_stride = n,
                   .b = b,
                   .c = b + r.state,
                   .bc_stride = selected,
                   .out = x + at,
                   .out_stride = n});
  });
  ForRows([&](int64_t row, int32_t) {
    float* y = x + row * n;
    k_.gate(Activation::kSilu, xz + row * 2 * n + n, y, n, y);
    products_.Store(inner_, row, y);
  });
}

void RecurrentMixer::MixMamba2(int32_t layer, const Activations& input) {
  const model::RecurrentWeights& w = weights_.layers[layer].recurrent;
  const model::RecurrentSpec& r = spec_.layers[layer].recurrent;
  const int64_t n = r.inner, channels = ConvolvedChannels(r), width = n + channels + r.heads;
  const int64_t head_dim = n / r.heads, group_size = n / r.groups;
  float *zxbcdt = parts_, *xbc = zxbcdt + rows() * width;
  const Product in{&w.in, zxbcdt, width};
  products_.Multiply(input, rows(), {&in, 1});
  Convolve(layer, channels, zxbcdt + n, width, /*silu=*/true, xbc);
  ForRows([&](int64_t row, int32_t) {
    float* dt = zxbcdt + row * width + n + channels;
    k_.add(dt, w.dt_bias, r.heads, dt);
  });
  ForSequenceParts(r.heads, [&](const BatchSequence& sequence, int64_t head, int32_t) {
    float* row = xbc + sequence.row_begin * channels;
    const float* b = row + n + head / (r.heads / r.groups) * r.state;
    k_.mamba2_scan({.head_dim = static_cast<int32_t>(head_dim),
                    .states = static_cast<int32_t>(r.state),
                    .a = w.a[head],
                    .d = w.d[head],
                    .state = batch_.StateOf(layer, sequence) + ConvolutionStateSize(r) + head * head_dim * r.state,
                    .tokens = sequence.tokens,
                    .x = row + head * head_dim,
                    .x_stride = channels,
                    .dt = zxbcdt + sequence.row_begin * width + n + channels + head,
                    .dt_stride = width,
                    .b = b,
                    .c = b + r.groups * r.state,
                    .bc_stride = channels,
                    .out = row + head * head_dim,
                    .out_stride = channels});
  });
  ForRows([&](int64_t row, int32_t) {
    float* y = xbc + row * channels;
    k_.gate(Activation::kSilu, zxbcdt + row * width, y, n, y);
    for (int64_t group = 0; w.norm.present && group < r.groups; ++group) {
      model::Norm own = w.norm;
      own.weight += group * group_size;
      ApplyNorm(own, y + group * group_size, group_size, y + group * group_size);
    }
    products_.Store(inner_, row, y);
  });
}

void RecurrentMixer::MixDeltaNet(int32_t layer, const Activations& input) {
  const model::RecurrentWeights& w = weights_.layers[layer].recurrent;
  const model::RecurrentSpec& r = spec_.layers[layer].recurrent;
  const int64_t n = r.inner, channels = ConvolvedChannels(r), v_dim = n / r.heads, keys = r.groups * r.state;
  const int64_t shared = r.heads / r.groups;  // value heads of one key head
  float *qkv = parts_, *z = qkv + rows() * channels, *decay = z + rows() * n, *beta = decay + rows() * r.heads;
  float *mixed = beta + rows() * r.heads, *out = mixed + rows() * channels, *both = out + rows() * n;
  const Product apart[] = {
      {&w.in, qkv, channels}, {&w.gate, z, n}, {&w.alpha, decay, r.heads}, {&w.beta, beta, r.heads}};
  const Product joined[] = {{&w.in, qkv, channels}, {&w.gate, z, n}, {&w.beta_alpha, both, 2 * r.heads}};
  products_.Multiply(input, rows(), w.beta_alpha ? std::span<const Product>(joined) : std::span<const Product>(apart));
  Convolve(layer, channels, qkv, channels, /*silu=*/true, mixed);
  ForRows([&](int64_t row, int32_t) {
    float *g = decay + row * r.heads, *b = beta + row * r.heads;
    const float* pair = both + row * 2 * r.heads;
    for (int64_t head = 0; w.beta_alpha && head < r.heads; ++head) {
      const float* own = pair + head / shared * 2 * shared + head % shared;
      b[head] = own[0];
      g[head] = own[shared];
    }
    k_.add(g, w.dt_bias, r.heads, g);
    k_.activate(Activation::kSoftplus, g, r.heads, g);
    k_.multiply(g, w.a, r.heads, g);
    k_.activate(Activation::kSigmoid, b, r.heads, b);
    // q and k of each head to length 1: x / sqrt(sum x^2 + epsilon)
    const auto length = static_cast<float>(r.state);
    for (float* head = mixed + row * channels; head < mixed + row * channels + 2 * keys; head += r.state) {
      k_.rms_norm(head, nullptr, spec_.norm.epsilon / length, r.state, head);
      k_.scale(head, 1.0f / std::sqrt(length), r.state, head);
    }
  });
  ForSequenceParts(r.heads, [&](const BatchSequence& sequence, int64_t head, int32_t) {
    const int64_t row = sequence.row_begin, key = (r.heads_by_group ? head / shared : head % r.groups) * r.state;
    const float* own = mixed + row * channels;
    k_.delta_rule({.k_dim = static_cast<int32_t>(r.state),
                   .v_dim = static_cast<int32_t>(v_dim),
                   .scale = 1.0f / std::sqrt(static_cast<float>(r.state)),
                   .state = batch_.StateOf(layer, sequence) + ConvolutionStateSize(r) + head * r.state * v_dim,
                   .tokens = sequence.tokens,
                   .q = own + key,
                   .k = own + keys + key,
                   .qk_stride = channels,
                   .v = own + 2 * keys + head * v_dim,
                   .v_stride = channels,
                   .log_decay = decay + row * r.heads + head,
                   .beta = beta + row * r.heads + head,
                   .gate_stride = r.heads,
                   .out = out + row * n + head * v_dim,
                   .out_stride = n});
  });
  ForRows([&](int64_t row, int32_t) {
    for (int64_t head = 0; head < r.heads; ++head) {
      float* y = out + row * n + head * v_dim;
      ApplyNorm(w.norm, y, v_dim, y);
      k_.gate(Activation::kSilu, z + row * n + head * v_dim, y, v_dim, y);
    }
    products_.Store(inner_, row, out + row * n);
  });
}

}  // namespace inferd::device
