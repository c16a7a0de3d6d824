#include "engine/device/cpu/further_streams.h"

#include <algorithm>
#include <cmath>

#include "config/base/status.h"
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

absl::Status FurtherStreams::Allocate() {
  ASSIGN_OR_RETURN(streams_, TakeRows(spec_.altup.streams * spec_.width));
  ASSIGN_OR_RETURN(laurel_, TakeRows(spec_.width));
  ASSIGN_OR_RETURN(low_, TakeRows(spec_.altup.rank));
  ASSIGN_OR_RETURN(input_, TakeActivations(most_rows(), spec_.width));
  ASSIGN_OR_RETURN(inner_, TakeActivations(most_rows(), spec_.altup.rank));
  modalities_.resize(most_rows() * spec_.altup.streams);
  return absl::OkStatus();
}

// Further streams are projections of the embedding, brought to its magnitude.
void FurtherStreams::Expand() {
  const int64_t width = spec_.width, stride = spec_.altup.streams * width;
  input_.formats = Formats::Of({&weights_.altup_projection});
  input_.k = width;
  stream_.StoreNormed({}, input_);
  const Product product{&weights_.altup_projection, streams_ + width, stride};
  products_.Multiply(input_, rows(), {&product, 1});
  ForRows([&](int64_t row, int32_t) {
    const float* x = stream_.Row(row);
    std::copy(x, x + width, StreamRow(row, 0));
    const double target = Magnitude(x, width);
    for (int64_t s = 1; s < spec_.altup.streams; ++s) {
      float* further = StreamRow(row, s);
      k_.scale(further, static_cast<float>(target / Magnitude(further, width)), width, further);
    }
  });
}

// tanh(router(norm(x) / width)) of each row.
void FurtherStreams::FindModalities(int32_t layer) {
  const model::AltupWeights& w = weights_.layers[layer].altup;
  const int64_t width = spec_.width, n = spec_.altup.streams;
  input_.formats = Formats::Of({&w.router});
  input_.k = width;
  ForRows([&](int64_t row, int32_t thread) {
    float* normed = scratch(thread).row;
    ApplyNorm(w.router_norm, stream_.Row(row), width, normed);
    k_.scale(normed, 1.0f / static_cast<float>(width), width, normed);
    products_.Store(input_, row, normed);
  });
  const Product product{&w.router, modalities_.data(), n};
  products_.Multiply(input_, rows(), {&product, 1});
  ForRows([&](int64_t row, int32_t) {
    float* modalities = modalities_.data() + row * n;
    k_.activate(Activation::kTanh, modalities, n, modalities);
  });
}

// Each stream grows by a mixture of all; the first one's prediction is what the layer's mixer reads.
void FurtherStreams::Predict(int32_t layer) {
  const model::AltupWeights& w = weights_.layers[layer].altup;
  const int64_t width = spec_.width, n = spec_.altup.streams;
  ForRows([&](int64_t row, int32_t) { std::copy_n(StreamRow(row, 0), width, stream_.Row(row)); });
  FindModalities(layer);
  ForRows([&](int64_t row, int32_t thread) {
    const float* modalities = modalities_.data() + row * n;
    float* old = scratch(thread).other_row;
    float* streams = StreamRow(row, 0);
    std::copy(streams, streams + n * width, old);
    for (int64_t to = 0; to < n; ++to) {
      for (int64_t from = 0; from < n; ++from) {
        float coefficient = 0;
        const float* row_of = w.predict + (to * n + from) * n;
        for (int64_t i = 0; i < n; ++i) coefficient += row_of[i] * modalities[i];
        k_.add_scaled(old + from * width, coefficient, width, streams + to * width);
      }
    }
    std::copy_n(streams, width, stream_.Row(row));
  });
}

// The stream is what the layer made of the first one; each prediction is corrected by a share of the difference. The
// layer's own input then goes to the further streams.
void FurtherStreams::Correct(int32_t layer, LayerInputs& layer_inputs) {
  const model::LayerWeights& w = weights_.layers[layer];
  const int64_t width = spec_.width, n = spec_.altup.streams;
  FindModalities(layer);
  ForRows([&](int64_t row, int32_t thread) {
    const float* modalities = modalities_.data() + row * n;
    float *x = stream_.Row(row), *streams = StreamRow(row, 0), *innovation = scratch(thread).row;
    for (int64_t i = 0; i < width; ++i) innovation[i] = x[i] - streams[i];
    for (int64_t s = 0; s < n; ++s) {
      float coefficient = 1;
      for (int64_t i = 0; i < n; ++i) coefficient += w.altup.correct[s * n + i] * modalities[i];
      k_.add_scaled(innovation, coefficient, width, streams + s * width);
    }
    k_.multiply(streams, w.altup.correct_scale, width, x);
  });
  layer_inputs.StoreInner(layer);
  const Product product{&w.layer_input.projection, stream_.BranchRow(0), width};
  products_.Multiply(layer_inputs.inner(), rows(), {&product, 1});
  ForRows([&](int64_t row, int32_t) {
    float *branch = stream_.BranchRow(row), *streams = StreamRow(row, 0);
    ApplyNorm(w.layer_input.norm, branch, width, branch);
    for (int64_t s = 1; s < n; ++s) k_.add(streams + s * width, branch, width, streams + s * width);
  });
}

// The stream becomes the mean of the first one and the others, each projected back and brought to the first's
// magnitude.
void FurtherStreams::Merge() {
  const int64_t width = spec_.width, n = spec_.altup.streams;
  ForRows([&](int64_t row, int32_t) { std::copy_n(StreamRow(row, 0), width, stream_.Row(row)); });
  input_.formats = Formats::Of({&weights_.altup_merge});
  input_.k = width;
  for (int64_t s = 1; s < n; ++s) {
    const model::Linear own = model::RowsOf(weights_.altup_merge, (s - 1) * width, width);
    ForRows([&](int64_t row, int32_t) { products_.Store(input_, row, StreamRow(row, s)); });
    const Product product{&own, stream_.BranchRow(0), width};
    products_.Multiply(input_, rows(), {&product, 1});
    ForRows([&](int64_t row, int32_t) {
      const float* branch = stream_.BranchRow(row);
      const double target = Magnitude(StreamRow(row, 0), width);
      k_.add_scaled(branch, static_cast<float>(target / Magnitude(branch, width)), width, stream_.Row(row));
    });
  }
  stream_.Scale(1.0f / static_cast<float>(n));
}

// laurel_ = h + norm(right(left(h))) of the mixer's input h.
void FurtherStreams::RunLaurel(int32_t layer, const Activations& input) {
  const model::LayerWeights& w = weights_.layers[layer];
  const int64_t width = spec_.width, rank = spec_.altup.rank;
  const Product left{&w.altup.laurel_left, low_, rank};
  products_.Multiply(input, rows(), {&left, 1});
  inner_.formats = Formats::Of({&w.altup.laurel_right});
  inner_.k = rank;
  ForRows([&](int64_t row, int32_t) { products_.Store(inner_, row, low_ + row * rank); });
  const Product right{&w.altup.laurel_right, laurel_, width};
  products_.Multiply(inner_, rows(), {&right, 1});
  ForRows([&](int64_t row, int32_t thread) {
    float *laurel = laurel_ + row * width, *normed = scratch(thread).row;
    ApplyNorm(w.altup.laurel_norm, laurel, width, laurel);
    ApplyNorm(w.before_mixer, stream_.Row(row), width, normed);
    k_.add(laurel, normed, width, laurel);
  });
}

void FurtherStreams::AddLaurel() {
  const int64_t width = spec_.width;
  ForRows([&](int64_t row, int32_t) {
    float* x = stream_.Row(row);
    k_.add(x, laurel_ + row * width, width, x);
    k_.scale(x, 1.0f / std::sqrt(2.0f), width, x);
  });
}

}  // namespace inferd::device
