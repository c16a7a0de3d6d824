// What the blocks of a GPU device share: weights on the device, products and norms over a batch.
//
//   RETURN_IF_ERROR(math.Upload(w.attention.q));                       // at the start
//   math.ApplyNorm(w.before_mixer, rows, width, x, normed);
//   Input input = math.Store(normed, rows, width, {&w.q, &w.k}, buffers);
//   math.Multiply(w.attention.q, input, rows, q);
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "engine/device/gpu/device_memory.h"
#include "engine/model/weights.h"
#include "kernels/gpu/gpu_stream.h"

namespace inferd::device {

// Memory for the rows of a product in each format that needs some.
struct InputBuffers {
  DeviceMemory block32, block256;
};

// Rows of k elements as products take them: as floats and, where wanted, quantized.
struct Input {
  std::array<const void*, 3> data{};  // by format
  int64_t k = 0;
};

// Norm of each of the heads of rows: rows of x that lie `stride` apart, with weights of their own if `heads` > 1.
struct HeadNorm {
  int64_t rows, n, stride, heads = 1;
};

class GpuMath {
 public:
  GpuMath(kernels::gpu::GpuStream& stream, const kernels::Kernels& host) : stream_(stream), host_(host) {}

  // RESOURCE_EXHAUSTED; INVALID_ARGUMENT for a type that GPUs do not take yet. Absent ones are nothing.
  absl::Status Upload(const model::Linear& linear);
  absl::Status Upload(const model::Norm& norm, int64_t n);
  absl::Status Upload(const float* values, int64_t n);
  // The device's copy of what was uploaded; nullptr for nullptr.
  template <typename T>
  const T* Of(const T* host) const {
    return host == nullptr ? nullptr : copies_.at(host).template As<T>();
  }

  absl::StatusOr<InputBuffers> TakeInput(int64_t rows, int64_t widest);
  absl::StatusOr<DeviceMemory> TakeFloats(int64_t n) {
    return DeviceMemory::Take(stream_, n * static_cast<int64_t>(sizeof(float)));
  }
  // x [rows][k] for products with these; x stays until they are done.
  Input Store(const float* x, int64_t rows, int64_t k, std::initializer_list<const model::Linear*> linears,
              const InputBuffers& buffers) const;
  void Multiply(const model::Linear& linear, const Input& input, int64_t rows, float* out) const;

  void ApplyNorm(const model::Norm& norm, int64_t rows, int64_t n, const float* x, float* out) const;
  void ApplyHeadNorm(const model::Norm& norm, const HeadNorm& shape, float* x) const;

 private:
  absl::Status Upload(const void* data, int64_t bytes);

  kernels::gpu::GpuStream& stream_;
  const kernels::Kernels& host_;
  std::unordered_map<const void*, DeviceMemory> copies_;
};

}  // namespace inferd::device
