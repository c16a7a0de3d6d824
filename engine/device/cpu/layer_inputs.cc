#include "engine/device/cpu/layer_inputs.h"

#include <cmath>

#include "config/base/status.h"

namespace inferd::device {

absl::Status LayerInputs::Allocate() {
  ASSIGN_OR_RETURN(inputs_, TakeRows(all()));
  ASSIGN_OR_RETURN(gate_, TakeRows(spec_.layer_input_width));
  ASSIGN_OR_RETURN(input_, TakeActivations(most_rows(), spec_.width));
  ASSIGN_OR_RETURN(inner_, TakeActivations(most_rows(), spec_.layer_input_width));
  return absl::OkStatus();
}

// (norm(projection of the token's embedding / sqrt(width)) + layer embedding * sqrt(n)) / sqrt(2), for each layer's n.
void LayerInputs::Project() {
  const int64_t width = spec_.width, n = spec_.layer_input_width;
  const model::Linear& table = weights_.layer_embedding;
  input_.formats = Formats::Of({&weights_.layer_projection});
  input_.k = width;
  stream_.StoreNormed({}, input_);
  const Product product{&weights_.layer_projection, inputs_, all()};
  products_.Multiply(input_, rows(), {&product, 1});
  const float to_unit = 1.0f / std::sqrt(static_cast<float>(width)), grown = std::sqrt(static_cast<float>(n));
  ForRows([&](int64_t row, int32_t thread) {
    float *out = inputs_ + row * all(), *embedded = scratch(thread).row;
    const auto* data = static_cast<const uint8_t*>(table.weights.data) + batch_.token(row) * table.weights.row_bytes;
    k_.dequantize_row(table.weights.type, data, all(), embedded);
    k_.scale(embedded, grown, all(), embedded);
    k_.scale(out, to_unit, all(), out);
    for (int64_t at = 0; at < all(); at += n) ApplyNorm(weights_.layer_projection_norm, out + at, n, out + at);
    k_.add(out, embedded, all(), out);
    k_.scale(out, 1.0f / std::sqrt(2.0f), all(), out);
  });
}

void LayerInputs::Run(int32_t layer) {
  const model::LayerInputWeights& w = weights_.layers[layer].layer_input;
  StoreInner(layer);
  stream_.AddProduct(inner_, w.projection, w.norm, {});
}

void LayerInputs::StoreInner(int32_t layer) {
  const model::LayerInputWeights& w = weights_.layers[layer].layer_input;
  const int64_t n = spec_.layer_input_width;
  input_.formats = Formats::Of({&w.gate});
  input_.k = spec_.width;
  stream_.StoreNormed({}, input_);
  const Product product{&w.gate, gate_, n};
  products_.Multiply(input_, rows(), {&product, 1});
  inner_.formats = Formats::Of({&w.projection});
  inner_.k = n;
  ForRows([&](int64_t row, int32_t) {
    float* gate = gate_ + row * n;
    k_.gate(kernels::Activation::kGeluHalf, gate, inputs_ + row * all() + layer * n, n, gate);
    products_.Store(inner_, row, gate);
  });
}

}  // namespace inferd::device
