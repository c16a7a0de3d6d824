#include "engine/device/cpu/rope_tables.h"

#include "config/base/status.h"

namespace inferd::device {

RopeTables::RopeTables(Processor& processor, const model::DecoderSpec& spec, int64_t context_tokens)
    : processor_(processor) {
  for (const model::RopeSpec& rope : spec.ropes) ropes_.push_back(model::FrequenciesOf(rope, context_tokens));
}

absl::Status RopeTables::Allocate(int64_t most_rows) {
  for (size_t rope = 0; rope < ropes_.size(); ++rope) {
    ASSIGN_OR_RETURN(float* table, workspace_.Take<float>(most_rows * 2 * Pairs(rope)));
    tables_.push_back(table);
  }
  return absl::OkStatus();
}

void RopeTables::Fill(const CpuBatch& batch) {
  for (size_t rope = 0; rope < ropes_.size(); ++rope) {
    const model::RopeFrequencies& frequencies = ropes_[rope];
    processor_.ForRows(batch.rows(), [&](int64_t row, int32_t) {
      processor_.kernels().rope_table(batch.position(row), frequencies.inverse.data(), Pairs(rope),
                                      frequencies.magnitude, tables_[rope] + row * 2 * Pairs(rope));
    });
  }
}

}  // namespace inferd::device
