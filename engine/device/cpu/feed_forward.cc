#include "engine/device/cpu/feed_forward.h"

#include <algorithm>
#include <cmath>

#include "config/base/status.h"
#include "engine/device/cpu/gated_pair.h"

namespace inferd::device {

int64_t FeedForward::widest_row() const {
  int64_t widest = spec_.width;
  for (const model::LayerSpec& layer : spec_.layers) {
    if (Has(layer)) widest = std::max(widest, layer.feed_forward.width);
  }
  return widest;
}

absl::Status FeedForward::Allocate() {
  int64_t width = 0, sparse = 0;
  for (const model::LayerSpec& layer : spec_.layers) {
    if (!Has(layer)) continue;
    width = std::max(width, layer.feed_forward.width);
    if (layer.feed_forward.sparsity > 0) sparse = std::max(sparse, layer.feed_forward.width);
  }
  ASSIGN_OR_RETURN(input_, TakeActivations(most_rows(), spec_.width));
  ASSIGN_OR_RETURN(inner_rows_, TakeRows(width));
  ASSIGN_OR_RETURN(gate_, TakeRows(sparse));
  ASSIGN_OR_RETURN(inner_, TakeActivations(most_rows(), width));
  return absl::OkStatus();
}

void FeedForward::BeforeMixer(int32_t layer) {
  if (spec_.parallel) PrepareInput(layer);
}

void FeedForward::Run(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  if (!spec_.parallel) PrepareInput(layer);
  inner_.formats = Formats::Of({&w.feed_forward.down});
  inner_.k = f.width;
  if (f.sparsity > 0) {
    StoreSparse(layer);
  } else {
    StoreGated(layer);
  }
  stream_.AddProduct(inner_, w.feed_forward.down, w.after_feed_forward, w.after_feed_forward_sum);
}

void FeedForward::PrepareInput(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  input_.formats = Formats::Of({&w.gate, &w.up});
  input_.k = spec_.width;
  stream_.StoreNormed(InputNorm(layer), input_);
}

void FeedForward::StoreGated(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  RunGatedPair(processor_, f,
               {.gate = &w.feed_forward.gate,
                .up = &w.feed_forward.up,
                .input = &input_,
                .input_rows = nullptr,
                .tokens = rows(),
                .out = inner_rows_,
                .stride = f.width,
                .limit = f.limit});
  const float* divisor = w.feed_forward.activation_divisor;
  ForRows([&](int64_t row, int32_t thread) {
    float* inner = inner_rows_ + row * f.width;
    for (int64_t i = 0; divisor != nullptr && i < f.width; ++i) inner[i] /= divisor[i];
    StoreRow(w.inside_feed_forward, inner, row, inner_, thread);
  });
}

// Both products first, as the gate's cut-off depends on its whole row.
void FeedForward::StoreSparse(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  const Product products[] = {{&w.feed_forward.gate, gate_, f.width}, {&w.feed_forward.up, inner_rows_, f.width}};
  products_.Multiply(input_, rows(), products);
  ForRows([&](int64_t row, int32_t thread) {
    float *gate = gate_ + row * f.width, *up = inner_rows_ + row * f.width;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < f.width; ++i) sum += gate[i];
    const double mean = sum / static_cast<double>(f.width);
    for (int64_t i = 0; i < f.width; ++i) squares += (gate[i] - mean) * (gate[i] - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(std::max<int64_t>(f.width - 1, 1)));
    const auto cut = static_cast<float>(mean + deviation * static_cast<double>(f.sparsity));
    for (int64_t i = 0; i < f.width; ++i) gate[i] = std::max(0.0f, gate[i] - cut);
    k_.gate(f.activation, gate, up, f.width, up);
    StoreRow(w.inside_feed_forward, up, row, inner_, thread);
  });
}

}  // namespace inferd::device
