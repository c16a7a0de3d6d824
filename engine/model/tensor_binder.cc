#include "engine/model/tensor_binder.h"

#include <cstring>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "engine/model/tensor_names.h"

namespace inferd::model {
namespace {

std::string ShapeText(const gguf::Tensor& tensor) {
  std::string text;
  for (uint32_t i = 0; i < tensor.n_dims; ++i) text += fmt::format("{}{}", i == 0 ? "" : " x ", tensor.dims[i]);
  return text;
}

// Rows are whole blocks: the reader has checked that.
kernels::WeightMatrix MatrixOf(const gguf::Tensor& tensor, int64_t k, int64_t rows) {
  const kernels::TypeTraits& traits = kernels::TraitsOf(tensor.type);
  return {tensor.type, tensor.data, rows, k, static_cast<size_t>(k) / traits.block_elements * traits.block_bytes};
}

}  // namespace

const gguf::Tensor* TensorBinder::Take(const std::string& name) {
  const gguf::Tensor* tensor = file_.FindTensor(name);
  if (tensor == nullptr) {
    Fail(InvalidArgument("{}: tensor {}: missing", file_.path(), name));
    return nullptr;
  }
  used_.insert(tensor->name);
  return tensor;
}

Linear TensorBinder::MatrixAlone(const std::string& base, int64_t k, int64_t rows) {
  const gguf::Tensor* tensor = Take(base + ".weight");
  if (tensor == nullptr) return {};
  if (static_cast<int64_t>(tensor->dims[0]) != k || tensor->elements() != static_cast<uint64_t>(k * rows)) {
    Fail(InvalidArgument("{}: tensor {}: shape {}, expected {} x {}", file_.path(), tensor->name, ShapeText(*tensor), k,
                         rows));
    return {};
  }
  Linear linear;
  linear.name = tensor->name;
  linear.weights = MatrixOf(*tensor, k, rows);
  weights_.linears.push_back(linear.weights);
  return linear;
}

Linear TensorBinder::Matrix(const std::string& base, int64_t k, int64_t rows, Bias bias) {
  Linear linear = MatrixAlone(base, k, rows);
  if (!linear) return {};
  linear.bias = bias == Bias::kRequired ? Vector(base + ".bias", rows) : VectorIfPresent(base + ".bias", rows);
  linear.scale = VectorIfPresent(base + ".scale", 1);
  return linear;
}

ExpertLinear TensorBinder::Experts(const std::string& base, int64_t k, int64_t rows, int64_t experts, Bias bias) {
  const gguf::Tensor* tensor = Take(base + ".weight");
  if (tensor == nullptr) return {};
  if (static_cast<int64_t>(tensor->dims[0]) != k || static_cast<int64_t>(tensor->dims[1]) != rows ||
      tensor->elements() != static_cast<uint64_t>(k * rows * experts)) {
    Fail(InvalidArgument("{}: tensor {}: shape {}, expected {} x {} x {}", file_.path(), tensor->name,
                         ShapeText(*tensor), k, rows, experts));
    return {};
  }
  ExpertLinear linear;
  linear.name = tensor->name;
  linear.weights = MatrixOf(*tensor, k, rows);
  weights_.linears.push_back(linear.weights);
  linear.expert_bytes = linear.weights.row_bytes * static_cast<size_t>(rows);
  linear.bias_stride = rows;
  const int64_t n = rows * experts;
  linear.bias = bias == Bias::kRequired ? Vector(base + ".bias", n) : VectorIfPresent(base + ".bias", n);
  linear.scale = VectorIfPresent(base + ".scale", experts);
  return linear;
}

float* TensorBinder::Keep(int64_t n) {
  weights_.converted.push_back(std::make_unique<float[]>(n));
  return weights_.converted.back().get();
}

const float* TensorBinder::Vector(const std::string& name, int64_t n) {
  const gguf::Tensor* tensor = Take(name);
  if (tensor == nullptr) return nullptr;
  if (tensor->elements() != static_cast<uint64_t>(n)) {
    Fail(InvalidArgument("{}: tensor {}: shape {}, expected {} elements", file_.path(), tensor->name,
                         ShapeText(*tensor), n));
    return nullptr;
  }
  if (tensor->type == kernels::TensorType::kF32) return reinterpret_cast<const float*>(tensor->data);
  float* values = Keep(n);
  kernels::SelectKernels("reference")->dequantize_row(tensor->type, tensor->data, n, values);
  return values;
}

const float* TensorBinder::Transposed(const std::string& name, int64_t rows, int64_t columns) {
  const float* values = Vector(name, rows * columns);
  if (values == nullptr) return nullptr;
  float* turned = Keep(rows * columns);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) turned[column * rows + row] = values[row * columns + column];
  }
  return turned;
}

Norm TensorBinder::NormOf(const std::string& base, int64_t n, const NormSpec& spec, bool weight_required) {
  if (base.empty()) return {};
  Norm norm{.present = true, .kind = spec.kind, .epsilon = spec.epsilon};
  const std::string weight = Has(base) ? base : base + ".weight";  // PLaMo 3 writes no ".weight"
  norm.weight = weight_required ? Vector(weight, n) : VectorIfPresent(weight, n);
  norm.bias = VectorIfPresent(base + ".bias", n);
  if (norm.bias != nullptr && spec.kind == NormKind::kRms) {
    Fail(InvalidArgument("{}: tensor {}.bias: the family's norm has no bias", file_.path(), base));
  }
  return norm;
}

void TensorBinder::Ignore(std::string_view prefix) {
  for (const gguf::Tensor& tensor : file_.tensors()) {
    if (tensor.name.starts_with(prefix)) used_.insert(tensor.name);
  }
}

absl::Status TensorBinder::Finish(std::vector<std::string>& warnings) {
  RETURN_IF_ERROR(status_);
  std::vector<std::string_view> ignored;
  for (const gguf::Tensor& tensor : file_.tensors()) {
    if (used_.contains(tensor.name)) continue;
    ignored.push_back(tensor.name);
    if (IsTensorOfSomeFamily(tensor.name)) {
      return InvalidArgument(
          "{}: tensor {}: not used by this architecture; running without it would give wrong results", file_.path(),
          tensor.name);
    }
  }
  if (ignored.size() == 1) {
    warnings.push_back(fmt::format("tensor {}: no family uses it; it is ignored", ignored.front()));
  } else if (!ignored.empty()) {
    warnings.push_back(fmt::format("tensor {} and {} others: no family uses them; they are ignored", ignored.front(),
                                   ignored.size() - 1));
  }
  return absl::OkStatus();
}

Linear RowsOf(const Linear& linear, int64_t row_begin, int64_t rows) {
  Linear part = linear;
  if (!linear) return part;
  part.weights.data = static_cast<const uint8_t*>(linear.weights.data) + row_begin * linear.weights.row_bytes;
  part.weights.rows = rows;
  if (linear.bias != nullptr) part.bias = linear.bias + row_begin;
  return part;
}

}  // namespace inferd::model
