// Random blocks of any tensor type whose values have a wanted size.
//
//   RandomBlocks blocks(TensorType::kQ4_K, /*deviation=*/0.02f, /*seed=*/1);
//   RETURN_IF_ERROR(blocks.Fill(tensor_bytes, sink));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "engine/gguf/gguf_writer.h"
#include "kernels/quant_types.h"

namespace inferd::tools {

class RandomBlocks {
 public:
  // Values have mean about 0 and the standard deviation given, within a few percent.
  RandomBlocks(kernels::TensorType type, float deviation, uint64_t seed);

  // Writes `bytes` (whole blocks) of random weights.
  absl::Status Fill(uint64_t bytes, gguf::TensorSink& sink);

 private:
  uint64_t Next();

  uint64_t state_;
  size_t block_bytes_;
  std::vector<uint8_t> pool_;  // many blocks, of which runs are drawn: fast, and never the same for two rows
};

}  // namespace inferd::tools
