// The residual stream on a GPU, [rows][n_embd], and how branches come to it. As cpu/residual_stream.h.
//
//   stream.Norm(w.before_mixer, normed);                                              // what a block reads
//   stream.AddProduct(inner, w.attention.output, w.after_mixer, w.after_mixer_sum);   // x += norm(output * inner)
#pragma once

#include "engine/device/gpu/gpu_batch.h"
#include "engine/device/gpu/gpu_math.h"

namespace inferd::device {

// What the blocks of a device work with.
struct GpuContext {
  const model::DecoderSpec& spec;
  const model::ModelWeights& weights;
  const DeviceOptions& options;
  const LayerRange layers;
  kernels::gpu::GpuStream& gpu;
  GpuMath& math;
  const GpuBatch& batch;
};

class GpuResidual {
 public:
  explicit GpuResidual(const GpuContext& context) : c_(context) {}

  absl::Status Allocate() {
    ASSIGN_OR_RETURN(x_, c_.math.TakeFloats(c_.options.max_batch_tokens * c_.spec.width));
    ASSIGN_OR_RETURN(branch_, c_.math.TakeFloats(c_.options.max_batch_tokens * c_.spec.width));
    return absl::OkStatus();
  }

  float* x() const { return x_.As<float>(); }

  // The normed rows: in `buffer`, or where there is no norm x itself.
  const float* Norm(const model::Norm& norm, float* buffer) const {
    if (!norm.present) return x();
    c_.math.ApplyNorm(norm, c_.batch.rows(), c_.spec.width, x(), buffer);
    return buffer;
  }

  void AddProduct(const Input& inner, const model::Linear& linear, const model::Norm& on_branch,
                  const model::Norm& on_sum) const {
    const int64_t rows = c_.batch.rows(), width = c_.spec.width;
    auto* const branch = branch_.As<float>();
    c_.math.Multiply(linear, inner, rows, branch);
    if (on_branch.present) c_.math.ApplyNorm(on_branch, rows, width, branch, branch);
    if (c_.spec.residual_scale == 1) {
      c_.gpu.Add(x(), branch, rows * width, x());
    } else {
      c_.gpu.AddScaled(branch, c_.spec.residual_scale, rows * width, x());
    }
    if (on_sum.present) c_.math.ApplyNorm(on_sum, rows, width, x(), x());
  }

 private:
  const GpuContext& c_;
  DeviceMemory x_, branch_;
};

}  // namespace inferd::device
