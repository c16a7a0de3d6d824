#include "engine/device/gpu/gpu_math.h"

namespace inferd::device {

using kernels::ActivationFormat;

absl::Status GpuMath::Upload(const void* data, int64_t bytes) {
  if (data == nullptr || copies_.contains(data)) return absl::OkStatus();
  ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Take(stream_, bytes));
  stream_.Copy(memory.As<void>(), data, static_cast<size_t>(bytes));
  copies_.emplace(data, std::move(memory));
  return absl::OkStatus();
}

absl::Status GpuMath::Upload(const model::Linear& linear) {
  if (!linear) return absl::OkStatus();
  const kernels::WeightMatrix& w = linear.weights;
  if (!stream_.Has(w.type)) {
    return InvalidArgument("tensor {}: type {} does not run on GPUs yet", linear.name, kernels::TraitsOf(w.type).name);
  }
  RETURN_IF_ERROR(Upload(linear.bias, w.rows));
  return Upload(w.data, w.rows * static_cast<int64_t>(w.row_bytes));
}

absl::Status GpuMath::Upload(const model::Norm& norm, int64_t n) {
  RETURN_IF_ERROR(Upload(norm.weight, n));
  return Upload(norm.bias, n);
}

absl::Status GpuMath::Upload(const float* values, int64_t n) {
  return Upload(static_cast<const void*>(values), n * static_cast<int64_t>(sizeof(float)));
}

absl::StatusOr<InputBuffers> GpuMath::TakeInput(int64_t rows, int64_t widest) {
  const int64_t k = (widest + 255) / 256 * 256;
  const auto bytes = [&](ActivationFormat format) {
    return rows * static_cast<int64_t>(host_.activation_row_bytes(format, k));
  };
  InputBuffers buffers;
  ASSIGN_OR_RETURN(buffers.block32, DeviceMemory::Take(stream_, bytes(ActivationFormat::kBlock32)));
  ASSIGN_OR_RETURN(buffers.block256, DeviceMemory::Take(stream_, bytes(ActivationFormat::kBlock256)));
  return buffers;
}

Input GpuMath::Store(const float* x, int64_t rows, int64_t k, std::initializer_list<const model::Linear*> linears,
                     const InputBuffers& buffers) const {
  Input input{.k = k};
  for (const model::Linear* linear : linears) {
    if (!*linear) continue;
    const ActivationFormat format = kernels::TraitsOf(linear->weights.type).activation;
    const void*& data = input.data[static_cast<size_t>(format)];
    if (data != nullptr) continue;
    if (format == ActivationFormat::kFloat) {
      data = x;
      continue;
    }
    auto* const out = (format == ActivationFormat::kBlock32 ? buffers.block32 : buffers.block256).As<uint8_t>();
    stream_.Quantize(format, x, rows, k, out, static_cast<int64_t>(host_.activation_row_bytes(format, k)));
    data = out;
  }
  return input;
}

void GpuMath::Multiply(const model::Linear& linear, const Input& input, int64_t rows, float* out) const {
  const kernels::WeightMatrix& w = linear.weights;
  const kernels::TypeTraits& traits = kernels::TraitsOf(w.type);
  const bool plain = traits.activation == ActivationFormat::kFloat;
  const auto* const activations = static_cast<const uint8_t*>(input.data[static_cast<size_t>(traits.activation)]);
  CHECK(activations != nullptr && w.k == input.k);
  stream_.Multiply(
      w.type, {.weights = Of(static_cast<const uint8_t*>(w.data)),
               .row_bytes = static_cast<int64_t>(w.row_bytes),
               .rows = static_cast<int32_t>(w.rows),
               .blocks = static_cast<int32_t>(w.k / traits.block_elements),
               .activations = activations,
               .activation_row_bytes = plain ? w.k * static_cast<int64_t>(sizeof(float))
                                             : static_cast<int64_t>(host_.activation_row_bytes(traits.activation, w.k)),
               .tokens = static_cast<int32_t>(rows),
               .out = out,
               .out_stride = w.rows});
  if (linear.scale != nullptr) stream_.Scale(out, *linear.scale, rows * w.rows, out);
  if (linear.bias != nullptr) stream_.AddToRows(Of(linear.bias), w.rows, rows, out);
}

void GpuMath::ApplyNorm(const model::Norm& norm, int64_t rows, int64_t n, const float* x, float* out) const {
  const kernels::gpu::NormArguments a{.x = x,
                                      .x_stride = n,
                                      .n = n,
                                      .weight = Of(norm.weight),
                                      .bias = Of(norm.bias),
                                      .epsilon = norm.epsilon,
                                      .out = out,
                                      .out_stride = n};
  norm.kind == model::NormKind::kLayer ? stream_.LayerNorm(rows, a) : stream_.RmsNorm(rows, a);
}

void GpuMath::ApplyHeadNorm(const model::Norm& norm, const HeadNorm& shape, float* x) const {
  const kernels::gpu::NormArguments a{.x = x,
                                      .x_stride = shape.stride,
                                      .n = shape.n,
                                      .weight = Of(norm.weight),
                                      .bias = Of(norm.bias),
                                      .weight_rows = shape.heads,
                                      .epsilon = norm.epsilon,
                                      .out = x,
                                      .out_stride = shape.stride};
  norm.kind == model::NormKind::kLayer ? stream_.LayerNorm(shape.rows, a) : stream_.RmsNorm(shape.rows, a);
}

}  // namespace inferd::device
