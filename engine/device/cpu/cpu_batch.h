// The batch of a pass as the CPU's blocks read it: positions of its rows, runs of rows in one page, and addresses where
// the cache has numbers.
//
//   batch.Begin(given);
//   for (const Run& run : batch.runs()) ...                            // run.row.., at run.position.. of its sequence
//   void* page = batch.PagesOf(layer, sequence)[position / kernels::kPageTokens];
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/host_page_memory.h"
#include "engine/device/device.h"

namespace inferd::device {

// Consecutive rows of one sequence whose tokens lie in one page.
struct Run {
  const BatchSequence* sequence;
  int64_t row, tokens, position;
};

class CpuBatch {
 public:
  CpuBatch(const cache::HostPageMemory& memory, const cache::CacheLayout& layout, LayerRange layers, int64_t most_rows);

  void Begin(const Batch& batch);  // which lives until the pass's end

  int64_t rows() const { return rows_; }
  int32_t token(int64_t row) const { return batch_.tokens[static_cast<size_t>(row)]; }
  int64_t position(int64_t row) const { return positions_[static_cast<size_t>(row)]; }
  int64_t token_type(int64_t row) const { return token_types_[static_cast<size_t>(row)]; }
  std::span<const BatchSequence> sequences() const { return batch_.sequences; }
  std::span<const Run> runs() const { return runs_; }

  // [pages of the sequence] of a layer with K and V of its own; nullptr where a window has passed. The sequence is one
  // of sequences().
  void* const* PagesOf(int32_t layer, const BatchSequence& sequence) const;
  float* StateOf(int32_t layer, const BatchSequence& sequence) const;  // of a recurrent layer

 private:
  void FindPages();

  const cache::HostPageMemory& memory_;
  const LayerRange layers_;
  const std::vector<int32_t> group_of_;  // [layers] of pages; -1: none
  const size_t groups_;
  Batch batch_;
  int64_t rows_ = 0;
  std::vector<int64_t> positions_;    // [rows]
  std::vector<int64_t> token_types_;  // [rows]
  std::vector<Run> runs_;
  std::vector<std::vector<void*>> addresses_;  // [layers] of all sequences' pages
  std::vector<int64_t> first_page_;            // [sequences][groups] of a sequence among them
};

}  // namespace inferd::device
