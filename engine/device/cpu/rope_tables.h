// Sines and cosines of a batch's positions, for each RoPE of a model.
//
//   RETURN_IF_ERROR(ropes.Allocate(most_rows));
//   ropes.Fill(batch);
//   k.rope(q, heads, stride, rotated, pairing, ropes.Row(attention.rope, row));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "engine/device/cpu/cpu_batch.h"
#include "engine/device/cpu/processor.h"
#include "engine/model/decoder_spec.h"
#include "engine/model/rope.h"

namespace inferd::device {

class RopeTables {
 public:
  RopeTables(Processor& processor, const model::DecoderSpec& spec, int64_t context_tokens);

  absl::Status Allocate(int64_t most_rows);
  void Fill(const CpuBatch& batch);
  const float* Row(int32_t rope, int64_t row) const { return tables_[rope] + row * 2 * Pairs(rope); }  // [2][pairs]

 private:
  int64_t Pairs(size_t rope) const { return static_cast<int64_t>(ropes_[rope].inverse.size()); }

  Processor& processor_;
  Workspace workspace_;
  std::vector<model::RopeFrequencies> ropes_;
  std::vector<float*> tables_;  // [ropes] of [rows][2][pairs]
};

}  // namespace inferd::device
