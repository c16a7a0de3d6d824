// The dense feed-forward network on a GPU. As cpu/feed_forward.h.
//
//   feed_forward.BeforeMixer(layer);
//   feed_forward.Run(layer);
#pragma once

#include "engine/device/gpu/gpu_residual.h"

namespace inferd::device {

class GpuFeedForward {
 public:
  GpuFeedForward(const GpuContext& context, const GpuResidual& stream) : c_(context), stream_(stream) {}

  absl::Status Allocate();
  void BeforeMixer(int32_t layer);
  void Run(int32_t layer);

 private:
  absl::Status UploadLayer(int32_t layer);
  void PrepareInput(int32_t layer);
  void Activate(const model::FeedForwardSpec& spec, bool gated);

  const GpuContext& c_;
  const GpuResidual& stream_;
  InputBuffers input_buffers_, inner_buffers_;
  Input input_;
  DeviceMemory normed_, gate_, up_;  // [rows][n_embd], [rows][width]
};

}  // namespace inferd::device
