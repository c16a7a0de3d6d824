#include "engine/device/cpu/embedding.h"

#include <algorithm>

namespace inferd::device {

void Embedding::ReadRow(const model::Linear& table, int64_t index, float* out) const {
  const auto* data = static_cast<const uint8_t*>(table.weights.data) + index * table.weights.row_bytes;
  k_.dequantize_row(table.weights.type, data, spec_.width, out);
}

void Embedding::Run() {
  const int64_t width = spec_.width;
  ForRows([&](int64_t row, int32_t thread) {
    float *x = stream_.Row(row), *other = scratch(thread).row;
    ReadRow(weights_.embedding, batch_.token(row), x);
    if (spec_.embedding_scale != 1) k_.scale(x, spec_.embedding_scale, width, x);
    if (weights_.token_types) {
      ReadRow(weights_.token_types, std::min(batch_.token_type(row), spec_.token_types - 1), other);
      k_.add(x, other, width, x);
    }
    if (weights_.positions) {
      ReadRow(weights_.positions, batch_.position(row), other);
      k_.add(x, other, width, x);
    }
    if (weights_.embedding_norm.present) ApplyNorm(weights_.embedding_norm, x, width, x);
  });
}

}  // namespace inferd::device
