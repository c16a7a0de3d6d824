// What some families keep beside the residual stream: an input of each layer from an embedding of its own (Gemma 3n and
// 4), and further streams that a layer predicts and corrects (AltUp, arXiv 2301.13310) with a branch of low rank beside
// attention (LAuReL, arXiv 2411.07501). streams_ holds, for each row, the first stream and then the further ones.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/cpu_device.h"
#include "engine/model/tensor_binder.h"

namespace inferd::device {
namespace {

using kernels::Activation;

double Magnitude(const float* x, int64_t n) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::sqrt(squares);
}

}  // namespace

void CpuDevice::BeginLayer(int32_t layer) {
  if (spec_.altup.streams > 0) PredictStreams(layer);
}

void CpuDevice::FinishLayer(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  if (spec_.altup.streams > 0) {
    CorrectStreams(layer);
    if (layer + 1 == static_cast<int32_t>(spec_.layers.size())) MergeStreams();
  } else if (spec_.layer_input_width > 0) {
    LayerInputBranch(layer, x_);
    AddBranch(w.layer_input.projection, w.layer_input.norm, {});
  }
  if (w.output_scale == nullptr) return;
  ForRows(rows_, [&](int64_t row, int32_t) {
    float* x = x_ + row * spec_.width;
    k_.scale(x, *w.output_scale, spec_.width, x);
  });
}

// (norm(projection of the token's embedding / sqrt(width)) + layer embedding * sqrt(n)) / sqrt(2), for each layer's n.
void CpuDevice::ProjectLayerInputs() {
  const int64_t width = spec_.width, n = spec_.layer_input_width, all = n * static_cast<int64_t>(spec_.layers.size());
  const model::Linear& table = weights_.layer_embedding;
  mixer_input_.formats = Formats::Of({&weights_.layer_projection});
  mixer_input_.k = width;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(mixer_input_, row, x_ + row * width); });
  const Product product{&weights_.layer_projection, layer_inputs_, all};
  products_.Multiply(mixer_input_, rows_, {&product, 1});
  const float to_unit = 1.0f / std::sqrt(static_cast<float>(width)), grown = std::sqrt(static_cast<float>(n));
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float *out = layer_inputs_ + row * all, *embedded = scratch_[thread].row;
    const auto* data = static_cast<const uint8_t*>(table.weights.data) + batch_.tokens[row] * table.weights.row_bytes;
    k_.dequantize_row(table.weights.type, data, all, embedded);
    k_.scale(embedded, grown, all, embedded);
    k_.scale(out, to_unit, all, out);
    for (int64_t at = 0; at < all; at += n) ApplyNorm(weights_.layer_projection_norm, out + at, n, out + at);
    k_.add(out, embedded, all, out);
    k_.scale(out, 1.0f / std::sqrt(2.0f), all, out);
  });
}

void CpuDevice::LayerInputBranch(int32_t layer, const float* source) {
  const model::LayerInputWeights& w = weights_.layers[layer].layer_input;
  const int64_t width = spec_.width, n = spec_.layer_input_width, all = n * static_cast<int64_t>(spec_.layers.size());
  mixer_input_.formats = Formats::Of({&w.gate});
  mixer_input_.k = width;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(mixer_input_, row, source + row * width); });
  const Product product{&w.gate, gate_, n};
  products_.Multiply(mixer_input_, rows_, {&product, 1});
  inner_.formats = Formats::Of({&w.projection});
  inner_.k = n;
  ForRows(rows_, [&](int64_t row, int32_t) {
    float* gate = gate_ + row * n;
    k_.gate(Activation::kGeluHalf, gate, layer_inputs_ + row * all + layer * n, n, gate);
    products_.Store(inner_, row, gate);
  });
}

// Further streams are projections of the embedding, brought to its magnitude.
void CpuDevice::ExpandStreams() {
  const int64_t width = spec_.width, stride = spec_.altup.streams * width;
  mixer_input_.formats = Formats::Of({&weights_.altup_projection});
  mixer_input_.k = width;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(mixer_input_, row, x_ + row * width); });
  const Product product{&weights_.altup_projection, streams_ + width, stride};
  products_.Multiply(mixer_input_, rows_, {&product, 1});
  ForRows(rows_, [&](int64_t row, int32_t) {
    const float* x = x_ + row * width;
    float* stream = streams_ + row * stride;
    std::copy(x, x + width, stream);
    const double target = Magnitude(x, width);
    for (int64_t s = 1; s < spec_.altup.streams; ++s) {
      float* further = stream + s * width;
      k_.scale(further, static_cast<float>(target / Magnitude(further, width)), width, further);
    }
  });
}

// tanh(router(norm(x) / width)) of each row.
void CpuDevice::StreamModalities(int32_t layer) {
  const model::AltupWeights& w = weights_.layers[layer].altup;
  const int64_t width = spec_.width, n = spec_.altup.streams;
  mixer_input_.formats = Formats::Of({&w.router});
  mixer_input_.k = width;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float* normed = scratch_[thread].row;
    ApplyNorm(w.router_norm, x_ + row * width, width, normed);
    k_.scale(normed, 1.0f / static_cast<float>(width), width, normed);
    products_.Store(mixer_input_, row, normed);
  });
  const Product product{&w.router, router_logits_.data(), n};
  products_.Multiply(mixer_input_, rows_, {&product, 1});
  ForRows(rows_, [&](int64_t row, int32_t) {
    float* modalities = router_logits_.data() + row * n;
    k_.activate(Activation::kTanh, modalities, n, modalities);
  });
}

// Each stream grows by a mixture of all; the first one's prediction is what the layer's mixer reads.
void CpuDevice::PredictStreams(int32_t layer) {
  const model::AltupWeights& w = weights_.layers[layer].altup;
  const int64_t width = spec_.width, n = spec_.altup.streams;
  ForRows(rows_, [&](int64_t row, int32_t) { std::copy_n(streams_ + row * n * width, width, x_ + row * width); });
  StreamModalities(layer);
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    const float* modalities = router_logits_.data() + row * n;
    float* old = scratch_[thread].other_row;
    float* streams = streams_ + row * n * width;
    std::copy(streams, streams + n * width, old);
    for (int64_t to = 0; to < n; ++to) {
      for (int64_t from = 0; from < n; ++from) {
        float coefficient = 0;
        const float* row_of = w.predict + (to * n + from) * n;
        for (int64_t i = 0; i < n; ++i) coefficient += row_of[i] * modalities[i];
        k_.add_scaled(old + from * width, coefficient, width, streams + to * width);
      }
    }
    std::copy_n(streams, width, x_ + row * width);
  });
}

// x_ is what the layer made of the first stream; each prediction is corrected by a share of the difference. The layer's
// own input then goes to the further streams.
void CpuDevice::CorrectStreams(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const int64_t width = spec_.width, n = spec_.altup.streams;
  StreamModalities(layer);
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    const float* modalities = router_logits_.data() + row * n;
    float *x = x_ + row * width, *streams = streams_ + row * n * width, *innovation = scratch_[thread].row;
    for (int64_t i = 0; i < width; ++i) innovation[i] = x[i] - streams[i];
    for (int64_t s = 0; s < n; ++s) {
      float coefficient = 1;
      for (int64_t i = 0; i < n; ++i) coefficient += w.altup.correct[s * n + i] * modalities[i];
      k_.add_scaled(innovation, coefficient, width, streams + s * width);
    }
    k_.multiply(streams, w.altup.correct_scale, width, x);
  });
  LayerInputBranch(layer, x_);
  const Product product{&w.layer_input.projection, branch_, width};
  products_.Multiply(inner_, rows_, {&product, 1});
  ForRows(rows_, [&](int64_t row, int32_t) {
    float *branch = branch_ + row * width, *streams = streams_ + row * n * width;
    ApplyNorm(w.layer_input.norm, branch, width, branch);
    for (int64_t s = 1; s < n; ++s) k_.add(streams + s * width, branch, width, streams + s * width);
  });
}

// x_ becomes the mean of the first stream and the others, each projected back and brought to the first's magnitude.
void CpuDevice::MergeStreams() {
  const int64_t width = spec_.width, n = spec_.altup.streams;
  ForRows(rows_, [&](int64_t row, int32_t) { std::copy_n(streams_ + row * n * width, width, x_ + row * width); });
  mixer_input_.formats = Formats::Of({&weights_.altup_merge});
  mixer_input_.k = width;
  for (int64_t s = 1; s < n; ++s) {
    const model::Linear own = model::RowsOf(weights_.altup_merge, (s - 1) * width, width);
    ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(mixer_input_, row, streams_ + (row * n + s) * width); });
    const Product product{&own, branch_, width};
    products_.Multiply(mixer_input_, rows_, {&product, 1});
    ForRows(rows_, [&](int64_t row, int32_t) {
      const float* branch = branch_ + row * width;
      const double target = Magnitude(streams_ + row * n * width, width);
      k_.add_scaled(branch, static_cast<float>(target / Magnitude(branch, width)), width, x_ + row * width);
    });
  }
  ForRows(rows_, [&](int64_t row, int32_t) {
    k_.scale(x_ + row * width, 1.0f / static_cast<float>(n), width, x_ + row * width);
  });
}

// laurel_ = h + norm(right(left(h))) of the mixer's input h.
void CpuDevice::RunLaurel(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const int64_t width = spec_.width, rank = spec_.altup.rank;
  const Product left{&w.altup.laurel_left, inner_rows_, rank};
  products_.Multiply(mixer_input_, rows_, {&left, 1});
  inner_.formats = Formats::Of({&w.altup.laurel_right});
  inner_.k = rank;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(inner_, row, inner_rows_ + row * rank); });
  const Product right{&w.altup.laurel_right, laurel_, width};
  products_.Multiply(inner_, rows_, {&right, 1});
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float *laurel = laurel_ + row * width, *input = scratch_[thread].row;
    ApplyNorm(w.altup.laurel_norm, laurel, width, laurel);
    ApplyNorm(w.before_mixer, x_ + row * width, width, input);
    k_.add(laurel, input, width, laurel);
  });
}

void CpuDevice::AddLaurel() {
  const int64_t width = spec_.width;
  ForRows(rows_, [&](int64_t row, int32_t) {
    float* x = x_ + row * width;
    k_.add(x, laurel_ + row * width, width, x);
    k_.scale(x, 1.0f / std::sqrt(2.0f), width, x);
  });
}

}  // namespace inferd::device
