// Attention with K and V of each head on a GPU. As cpu/attention.h and cpu/paged_attention.h.
//
//   attention.Project(layer, normed);   // normed [rows][n_embd]
//   attention.Attend(layer);
//   attention.Finish(layer);
#pragma once

#include <vector>

#include "engine/device/gpu/gpu_residual.h"

namespace inferd::device {

class GpuAttention {
 public:
  GpuAttention(const GpuContext& context, const GpuResidual& stream) : c_(context), stream_(stream) {}

  absl::Status Allocate();
  void Project(int32_t layer, const float* normed);
  void Attend(int32_t layer);
  void Finish(int32_t layer);

 private:
  static constexpr int64_t kRowsAtOnce = 32;  // whose spans' states there is room for

  absl::Status UploadLayer(int32_t layer);
  void NormHeads(const model::Norm& norm, model::QkNorm kind, int64_t heads, int64_t stride, int64_t dim, float* x);
  void NormQueriesAndKeys(int32_t layer);
  void Turn(int32_t layer);
  void GateOutput(int32_t layer);

  const GpuContext& c_;
  const GpuResidual& stream_;
  InputBuffers input_, inner_input_;
  DeviceMemory q_, k_, v_, gate_, attended_, normed_, states_;
  std::vector<std::vector<float>> alibi_slopes_;  // [layers][heads], empty without
};

}  // namespace inferd::device
