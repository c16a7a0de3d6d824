// An input of each layer from an embedding of its own, beside the residual stream (Gemma 3n and 4).
//
//   inputs.Project();            // after the embedding: of all layers
//   inputs.Run(layer);           // at a layer's end: the stream += projection(gelu(gate(stream)) * input), normed
//
// Where there are further streams, they take the branch instead (further_streams.h).
#pragma once

#include <cstdint>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class LayerInputs final : public Block {
 public:
  using Block::Block;
  static bool Has(const model::DecoderSpec& spec) { return spec.layer_input_width > 0; }

  int64_t widest_row() const override { return all(); }
  absl::Status Allocate() override;
  void Project();
  void Run(int32_t layer);
  // The branch before the stream's own way of adding it: LayerInputWeights::projection times inner(), not yet normed.
  void StoreInner(int32_t layer);
  const Activations& inner() const { return inner_; }

 private:
  int64_t all() const { return spec_.layer_input_width * static_cast<int64_t>(spec_.layers.size()); }

  float *inputs_ = nullptr, *gate_ = nullptr;  // [rows][layers][layer_input_width], [rows][layer_input_width]
  Activations input_, inner_;                  // [rows][n_embd], [rows][layer_input_width]
};

}  // namespace inferd::device
