// Finds a model's tensors by name and checks their shapes, without a check after every line: the first error sticks.
//
//   TensorBinder binder(file, weights);
//   Linear q = binder.Matrix("blk.0.attn_q", /*k=*/2048, /*rows=*/2048, Bias::kIfPresent);
//   const float* sinks = binder.Vector("blk.0.attn_sinks.weight", 32);
//   RETURN_IF_ERROR(binder.Finish(warnings));   // also refuses tensors that another family would use
//
// Matrices are listed in weights.linears as they are bound. Tensors are used once each (a matrix may be split by the
// caller). Missing ones come back empty after an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/weights.h"

namespace inferd::model {

class TensorBinder {
 public:
  TensorBinder(const gguf::GgufFile& file, ModelWeights& weights) : file_(file), weights_(weights) {}

  bool Has(std::string_view name) const { return file_.FindTensor(name) != nullptr; }

  // `base`.weight of shape [rows][k], with `base`.bias [rows] and `base`.scale [1] where the file has them.
  Linear Matrix(const std::string& base, int64_t k, int64_t rows, Bias bias = Bias::kIfPresent);
  Linear MatrixAlone(const std::string& base, int64_t k, int64_t rows);  // without either
  // Matrix for each expert in one tensor, with biases [experts][rows] and scales [experts].
  ExpertLinear Experts(const std::string& base, int64_t k, int64_t rows, int64_t experts, Bias bias);
  // f32 values, converted if the file holds another type. Any shape of n elements.
  const float* Vector(const std::string& name, int64_t n);
  const float* VectorIfPresent(const std::string& name, int64_t n) { return Has(name) ? Vector(name, n) : nullptr; }
  // A tensor of shape [rows][columns] as [columns][rows] f32.
  const float* Transposed(const std::string& name, int64_t rows, int64_t columns);
  // `base`.weight and, where present, `base`.bias. Empty base: no norm.
  Norm NormOf(const std::string& base, int64_t n, const NormSpec& spec, bool weight_required);

  void Ignore(std::string_view prefix);  // tensors whose names begin so belong to parts that are not run
  void Fail(const absl::Status& status) { status_.Update(status); }
  bool ok() const { return status_.ok(); }
  // Tensors that no family uses do no harm: a warning.
  absl::Status Finish(std::vector<std::string>& warnings);

 private:
  const gguf::Tensor* Take(const std::string& name);  // nullptr after an error
  float* Keep(int64_t n);

  const gguf::GgufFile& file_;
  ModelWeights& weights_;
  absl::Status status_;
  absl::flat_hash_set<std::string_view> used_;
};

// Rows row_begin.. of a matrix, as one of their own.
Linear RowsOf(const Linear& linear, int64_t row_begin, int64_t rows);

}  // namespace inferd::model
