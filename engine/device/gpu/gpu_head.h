// Results of a pass on a GPU: made there, copied to the host. As cpu/head.h.
//
//   ASSIGN_OR_RETURN(const std::span<float> logits, head.Logits(rows));   // [rows][n_vocab]
#pragma once

#include <span>
#include <vector>

#include "engine/device/gpu/gpu_residual.h"

namespace inferd::device {

class GpuHead {
 public:
  GpuHead(const GpuContext& context, const GpuResidual& stream)
      : c_(context),
        stream_(stream),
        wanted_(context.gpu),
        vector_(context.gpu),
        best_(context.gpu),
        projected_(context.gpu) {}

  absl::Status Allocate();
  absl::StatusOr<std::span<float>> Hidden(std::span<const int32_t> rows);
  absl::StatusOr<std::span<float>> Logits(std::span<const int32_t> rows);
  absl::StatusOr<std::span<const kernels::TopEntry>> TopK(std::span<const int32_t> rows, int32_t k);
  absl::StatusOr<std::span<const float>> LogSumExp(std::span<const int32_t> rows, const kernels::Kernels& host);
  absl::Status Project(const model::Linear& linear, std::span<const float> x, std::span<float> y);

 private:
  absl::Status MakeHidden(std::span<const int32_t> rows);
  absl::Status MakeLogits(std::span<const int32_t> rows);

  const GpuContext& c_;
  const GpuResidual& stream_;
  InputBuffers input_;
  DeviceArray<int32_t> wanted_;
  DeviceArray<float> vector_;
  DeviceMemory hidden_, logits_;    // [max_result_rows][n_embd], [kMostLogitsRows][n_vocab]
  GrowingMemory best_, projected_;  // [kMostLogitsRows][k], of one row
  std::vector<float> hidden_rows_, logits_rows_, log_sums_;
  std::vector<kernels::TopEntry> top_;
};

}  // namespace inferd::device
