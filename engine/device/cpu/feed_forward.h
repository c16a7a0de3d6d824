// The dense feed-forward network: gate and up projections with their activation in one job, then down into the stream.
//
//   feed_forward.BeforeMixer(layer);
//   feed_forward.Run(layer);
#pragma once

#include <cstdint>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class FeedForward final : public Network {
 public:
  using Network::Network;
  static bool Has(const model::LayerSpec& layer) {
    return layer.feed_forward.width > 0 && layer.feed_forward.experts.count == 0;
  }

  int64_t widest_row() const override;
  absl::Status Allocate() override;
  void BeforeMixer(int32_t layer) override;
  void Run(int32_t layer) override;

 private:
  void PrepareInput(int32_t layer);
  void StoreGated(int32_t layer);
  void StoreSparse(int32_t layer);

  Activations input_;                              // [rows][n_embd]
  float *inner_rows_ = nullptr, *gate_ = nullptr;  // [rows][width]; the gate's apart where it is sparse
  Activations inner_;                              // the same
};

}  // namespace inferd::device
