// A GPU as the host drives it: memory, copies, and the kernels of this folder as calls that are done in their order.
//
//   float* x = static_cast<float*>(stream.Allocate(rows * n * sizeof(float)));   // nullptr: the device is full
//   stream.Copy(x, host, bytes);                       // host memory stays as it is until Wait
//   stream.RmsNorm(rows, {.x = x, ...});
//   stream.Copy(host, x, bytes);
//   if (const char* error = stream.Wait()) ...         // nullptr: all is done
//
// Implemented once for all GPUs and for the emulated one (operations.h). Rows and counts may be 0, then nothing is
// done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gpu/arguments.h"
#include "kernels/kernels.h"

namespace inferd::kernels::gpu {

class GpuStream {
 public:
  virtual ~GpuStream() = default;

  virtual const char* device_name() const = 0;
  virtual uint64_t progress() const = 0;  // changes while anything is done; any thread may ask

  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* memory) = 0;  // nothing waits that uses it
  virtual void Copy(void* to, const void* from, size_t bytes) = 0;
  virtual const char* Wait() = 0;

  // Whether products and embeddings with such weights run.
  virtual bool Has(TensorType type) const = 0;
  virtual void Embed(TensorType type, int64_t rows, const EmbeddingArguments& arguments) = 0;
  // x [rows][k] to rows of ActivationBlock32 or ActivationBlock256; k: whole blocks.
  virtual void Quantize(ActivationFormat format, const float* x, int64_t rows, int64_t k, void* out,
                        int64_t row_bytes) = 0;
  virtual void Multiply(TensorType type, const ProductArguments& arguments) = 0;

  virtual void RmsNorm(int64_t rows, const NormArguments& arguments) = 0;  // then adds the bias, where there is one
  virtual void LayerNorm(int64_t rows, const NormArguments& arguments) = 0;

  virtual void WriteKv(int64_t rows, const WriteArguments& arguments) = 0;
  virtual void Attend(int64_t rows, const SpanArguments& arguments) = 0;
  virtual void Rope(const HeadArguments& heads, int64_t rows, RopePairing pairing, const float* tables) = 0;
  virtual void ScaleHeads(const HeadArguments& heads, int64_t rows, const float* factors, int64_t row_factors,
                          int64_t head_factors) = 0;
  virtual void GateHeads(Activation kind, const HeadArguments& heads, int64_t rows, const float* gates,
                         int64_t row_gates, int64_t head_gates) = 0;

  virtual void Activate(Activation kind, const float* x, int64_t n, float* out) = 0;
  virtual void Gate(Activation kind, const float* gate, const float* up, int64_t n, float* out) = 0;
  virtual void Add(const float* a, const float* b, int64_t n, float* out) = 0;
  virtual void AddToRows(const float* b, int64_t width, int64_t rows, float* x) = 0;
  virtual void DivideRows(const float* b, int64_t width, int64_t rows, float* x) = 0;
  virtual void MultiplyElements(const float* a, const float* b, int64_t n, float* out) = 0;
  virtual void Scale(const float* x, float factor, int64_t n, float* out) = 0;
  virtual void AddScaled(const float* x, float factor, int64_t n, float* out) = 0;
  virtual void SoftCap(const float* x, float cap, int64_t n, float* out) = 0;
  virtual void Clamp(float limit, int64_t n, float* x) = 0;
  virtual void ClampPair(float limit, float added, int64_t n, float* gate, float* up) = 0;

  virtual void GatherRows(const float* x, const int32_t* which, int64_t rows, int64_t width, float* out) = 0;
  virtual void TopK(const float* x, int64_t rows, int64_t n, int32_t k, TopEntry* top) = 0;
  virtual void LogSumExpParts(const float* x, int64_t rows, int64_t n, float* parts) = 0;  // [rows][2]
};

}  // namespace inferd::kernels::gpu
