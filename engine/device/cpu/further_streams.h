// Further streams beside the residual one, which a layer predicts and corrects (AltUp, arXiv 2301.13310), with a branch
// of low rank beside attention (LAuReL, arXiv 2411.07501).
//
//   streams.Expand();                                     // after the embedding
//   streams.Predict(layer);                               // the stream = what the layer's mixer reads
//   streams.RunLaurel(layer, input); ... streams.AddLaurel();   // before and after attention
//   streams.Correct(layer, layer_inputs);                 // the stream = what the layer made of it
//   streams.Merge();                                      // after the last layer
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/cpu/block.h"
#include "engine/device/cpu/layer_inputs.h"

namespace inferd::device {

class FurtherStreams final : public Block {
 public:
  using Block::Block;
  static bool Has(const model::DecoderSpec& spec) { return spec.altup.streams > 0; }

  int64_t widest_row() const override { return spec_.altup.streams * spec_.width; }
  absl::Status Allocate() override;
  Formats InputFormats(int32_t layer) const { return Formats::Of({&weights_.layers[layer].altup.laurel_left}); }

  void Expand();
  void Predict(int32_t layer);
  void RunLaurel(int32_t layer, const Activations& input);
  void AddLaurel();
  void Correct(int32_t layer, LayerInputs& layer_inputs);
  void Merge();

  float* values() const { return streams_; }  // [rows][streams][n_embd], the first stream too

 private:
  float* StreamRow(int64_t row, int64_t stream) const {
    return streams_ + (row * spec_.altup.streams + stream) * spec_.width;
  }
  void FindModalities(int32_t layer);

  float *streams_ = nullptr, *laurel_ = nullptr, *low_ = nullptr;  // low_: [rows][rank]
  std::vector<float> modalities_;                                  // [rows][streams]
  Activations input_, inner_;                                      // [rows][n_embd], [rows][rank]
};

}  // namespace inferd::device
