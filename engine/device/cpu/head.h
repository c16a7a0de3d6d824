// Results of a pass: wanted rows of the residual stream as hidden states, logits, the largest logits, or their sums.
//
//   const std::span<float> logits = head.Logits(rows);   // [rows][n_vocab]
//
// What a call gives stays until the next one; the stream stays as it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/cpu/block.h"

namespace inferd::device {

class Head final : public Block {
 public:
  using Block::Block;

  int64_t widest_row() const override { return spec_.width; }
  absl::Status Allocate() override;

  // As Device's.
  std::span<float> Hidden(std::span<const int32_t> rows);
  std::span<float> Logits(std::span<const int32_t> rows);
  std::span<const kernels::TopEntry> TopK(std::span<const int32_t> rows, int32_t k);
  std::span<const float> LogSumExp(std::span<const int32_t> rows);
  // Of a matrix over n_embd that belongs to no layer.
  void Project(const model::Linear& linear, std::span<const float> x, std::span<float> y);

 private:
  Activations input_;                            // [max_result_rows][n_embd]
  float *hidden_ = nullptr, *logits_ = nullptr;  // [max_result_rows][n_embd], [kMostLogitsRows][n_vocab]
  std::vector<kernels::TopEntry> top_;
  std::vector<float> log_sums_;
};

}  // namespace inferd::device
