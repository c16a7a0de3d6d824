// Token ids become rows of the residual stream.
//
//   embedding.Run();   // stream row = embedding of the row's token (scaled, positions added, normed)
#pragma once

#include <cstdint>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class Embedding final : public Block {
 public:
  using Block::Block;

  int64_t widest_row() const override { return spec_.width; }
  absl::Status Allocate() override { return absl::OkStatus(); }
  void Run();

 private:
  void ReadRow(const model::Linear& table, int64_t index, float* out) const;
};

}  // namespace inferd::device
