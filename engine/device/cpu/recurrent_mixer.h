// Mixers with a recurrent state: LFM2's short convolution, Mamba, Mamba-2, and the gated delta net. A layer's state of
// one sequence is the convolution's last inputs, then the mixer's own. Work is divided by channels or heads, so that
// each state is carried over the tokens by one thread, in order.
//
//   mixer.Run(layer, input);   // input: the normed stream, in InputFormats(layer); the stream += ...
#pragma once

#include <cstdint>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class RecurrentMixer final : public Block {
 public:
  using Block::Block;
  static bool Has(const model::LayerSpec& layer) { return layer.recurrent.kind != model::RecurrentKind::kNone; }

  int64_t widest_row() const override { return 0; }
  absl::Status Allocate() override;
  Formats InputFormats(int32_t layer) const;
  void Run(int32_t layer, const Activations& input);

 private:
  template <typename Task>
  void ForSequenceParts(int64_t parts, Task task);
  void Convolve(int32_t layer, int64_t channels, const float* x, int64_t x_stride, bool silu, float* out);
  void MixShortConvolution(int32_t layer, const Activations& input);
  void MixMamba(int32_t layer, const Activations& input);
  void MixMamba2(int32_t layer, const Activations& input);
  void MixDeltaNet(int32_t layer, const Activations& input);

  float* parts_ = nullptr;  // [rows][RecurrentWidth]; each mixer divides it into its own parts of all rows
  Activations selected_;    // kMamba: what its own projections read
  Activations inner_;
};

}  // namespace inferd::device
