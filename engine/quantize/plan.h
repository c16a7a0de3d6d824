// What becomes of each tensor of a model when it is quantized.
//
//   ASSIGN_OR_RETURN(Plan plan, MakePlan(file, {.file_type = FindFileType("Q4_K_M")}));
//   plan.tensors[0].type, plan.bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"
#include "engine/quantize/file_type.h"
#include "engine/quantize/importance.h"

namespace inferd::quantize {

// A type for the tensors in whose name a regular expression is found, instead of what the mix says.
struct TensorChoice {
  std::string expression;
  kernels::TensorType type;
};
// "REGEX=TYPE". INVALID_ARGUMENT names what is wrong with it.
absl::StatusOr<TensorChoice> ParseTensorChoice(std::string_view text);

struct PlanOptions {
  const FileType* file_type = nullptr;
  std::vector<TensorChoice> choices;  // the first that fits counts
  const Importance* importance = nullptr;
  bool allow_requantize = false;
};

struct PlannedTensor {
  const gguf::Tensor* source;
  kernels::TensorType type;
  uint64_t bytes;       // in the new file
  bool smaller_blocks;  // the wanted type's blocks do not divide the rows
};

struct Plan {
  std::vector<PlannedTensor> tensors;  // in the file's order
  uint64_t source_bytes = 0, bytes = 0, elements = 0;
};

// INVALID_ARGUMENT for an expression that is none or that no tensor matches, a chosen type whose blocks do not divide
// the rows, and an importance file of another model; FAILED_PRECONDITION for a quantized tensor that would be quantized
// again without `allow_requantize`. All name the tensor.
absl::StatusOr<Plan> MakePlan(const gguf::GgufFile& file, const PlanOptions& options);

}  // namespace inferd::quantize
