// Which type each tensor of a model gets in a file of some type: most the file type's base, those that matter more a
// better one. The mixes are the ones that the file types' names stand for elsewhere, so that a Q4_K_M file is a Q4_K_M
// file whoever wrote it.
//
//   ASSIGN_OR_RETURN(TensorMix mix, TensorMix::Create(file, *FindFileType("Q4_K_M"), /*has_importance=*/false));
//   if (mix.Quantizes(tensor)) type = mix.TypeOf(tensor);
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "engine/gguf/gguf_file.h"
#include "engine/quantize/file_type.h"
#include "kernels/quant_types.h"

namespace inferd::quantize {

// What a tensor does in its layer, as far as the mixes tell tensors apart.
enum class Role : uint8_t { kEmbedding, kHead, kQuery, kKey, kValue, kAttentionOutput, kUp, kGate, kDown, kOther };
Role RoleOf(std::string_view tensor_name);

// A matrix of weights, not one of those that stay as they are because they are small or sensitive (norms, routers,
// convolutions, positions).
bool IsQuantizable(const gguf::Tensor& tensor);

// The type itself, or where its blocks do not divide rows of so many values, the nearest type whose blocks do.
kernels::TensorType TypeForRows(kernels::TensorType wanted, uint64_t row_elements);

class TensorMix {
 public:
  // INVALID_ARGUMENT for counts in the metadata that are no numbers.
  static absl::StatusOr<TensorMix> Create(const gguf::GgufFile& file, const FileType& file_type, bool has_importance);

  // Of a quantizable tensor; blocks may not divide its rows (TypeForRows).
  kernels::TensorType TypeOf(const gguf::Tensor& tensor) const;

 private:
  TensorMix() = default;
  kernels::TensorType HeadType(const gguf::Tensor& tensor) const;

  FileType file_type_{};
  bool has_importance_ = false, falcon_ = false, tied_head_ = true;
  int64_t layers_ = 0, query_heads_of_kv_head_ = 1, experts_ = 0;
  int64_t values_ = 0;                                        // tensors of Role::kValue
  std::unordered_map<std::string_view, int64_t> value_rank_;  // by layer
};

}  // namespace inferd::quantize
