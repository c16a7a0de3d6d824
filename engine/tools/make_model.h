// Model files with random weights, for benchmarks: the right shapes, types and sizes, and finite logits.
//
//   ASSIGN_OR_RETURN(ModelShape shape, ParseShape("llama-1b"));      // or "width=512,layers=4"
//   RETURN_IF_ERROR(MakeModel(shape, TensorType::kQ4_K, TensorType::kQ6_K, "bench.gguf"));
//
// The same arguments give the same bytes. The vocabulary is byte-pair with all bytes, so any text has tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/quant_types.h"

namespace inferd::tools {

struct ModelShape {
  int64_t width = 2048;  // n_embd
  int64_t layers = 16;
  int64_t heads = 32;
  int64_t kv_heads = 8;
  int64_t head_dim = 64;
  int64_t feed_forward = 8192;
  int64_t vocabulary = 128256;  // tokens, at least 512
  int64_t context = 8192;       // tokens
  bool tied_head = true;        // the embedding serves as the head
};

// "llama-1b" (the defaults above), "llama-tiny", or key=value pairs joined by commas that change the defaults; the keys
// are the names of the fields. INVALID_ARGUMENT names the key and its range.
absl::StatusOr<ModelShape> ParseShape(std::string_view text);

// INVALID_ARGUMENT for shapes that the types' blocks do not divide; or what writing gives.
absl::Status MakeModel(const ModelShape& shape, kernels::TensorType type, kernels::TensorType head_type,
                       const std::string& path);

}  // namespace inferd::tools
