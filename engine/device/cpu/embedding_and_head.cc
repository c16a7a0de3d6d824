// The two ends of a pass: token ids become rows of the residual stream, and wanted rows become logits.
#include <algorithm>

#include "config/base/status.h"
#include "engine/device/cpu/cpu_device.h"

namespace inferd::device {

void CpuDevice::Embed() {
  const int64_t width = spec_.width;
  const auto row_of = [&](const model::Linear& table, int64_t index, float* out) {
    const auto* data = static_cast<const uint8_t*>(table.weights.data) + index * table.weights.row_bytes;
    k_.dequantize_row(table.weights.type, data, width, out);
  };
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float *x = x_ + row * width, *other = scratch_[thread].row;
    row_of(weights_.embedding, batch_.tokens[row], x);
    if (spec_.embedding_scale != 1) k_.scale(x, spec_.embedding_scale, width, x);
    if (weights_.token_types) {
      row_of(weights_.token_types, 0, other);
      k_.add(x, other, width, x);
    }
    if (weights_.positions) {
      row_of(weights_.positions, positions_[row], other);
      k_.add(x, other, width, x);
    }
    if (weights_.embedding_norm.present) ApplyNorm(weights_.embedding_norm, x, width, x);
  });
  if (spec_.layer_input_width > 0) ProjectLayerInputs();
  if (spec_.altup.streams > 0) ExpandStreams();
}

absl::StatusOr<std::span<float>> CpuDevice::Hidden(std::span<const int32_t> rows) {
  const int64_t width = spec_.width;
  const auto wanted = static_cast<int64_t>(rows.size());
  CHECK(wanted <= options_.max_result_rows);
  ForRows(wanted, [&](int64_t i, int32_t) {
    const float* x = x_ + rows[i] * width;
    if (weights_.output_norm.present) {
      ApplyNorm(weights_.output_norm, x, width, hidden_ + i * width);
    } else {
      std::copy(x, x + width, hidden_ + i * width);
    }
  });
  return std::span(hidden_, static_cast<size_t>(wanted * width));
}

absl::StatusOr<std::span<float>> CpuDevice::Logits(std::span<const int32_t> rows) {
  const int64_t width = spec_.width, vocabulary = spec_.vocabulary_size;
  const auto wanted = static_cast<int64_t>(rows.size());
  CHECK(wanted <= std::min(options_.max_result_rows, kMostLogitsRows));
  if (wanted == 0) return std::span<float>();
  mixer_input_.formats = Formats::Of({&weights_.head});
  mixer_input_.k = width;
  ForRows(wanted, [&](int64_t i, int32_t thread) {
    StoreRow(weights_.output_norm, x_ + rows[i] * width, i, mixer_input_, thread);
  });
  const Product product{&weights_.head, logits_, vocabulary};
  products_.Multiply(mixer_input_, wanted, {&product, 1}, [&](const Part& part, int32_t) {
    for (int64_t i = 0; i < wanted; ++i) {
      float* logits = logits_ + i * vocabulary + part.row_begin;
      const int64_t n = part.row_end - part.row_begin;
      if (spec_.logit_scale != 1) k_.scale(logits, spec_.logit_scale, n, logits);
      if (spec_.logit_soft_cap != 0) k_.soft_cap(logits, spec_.logit_soft_cap, n, logits);
    }
  });
  return std::span(logits_, static_cast<size_t>(wanted * vocabulary));
}

absl::StatusOr<std::span<const kernels::TopEntry>> CpuDevice::TopK(std::span<const int32_t> rows, int32_t k) {
  CHECK(k >= 1 && k <= spec_.vocabulary_size);
  top_.resize(rows.size() * static_cast<size_t>(k));
  for (size_t row = 0; row < rows.size(); ++row) {
    ASSIGN_OR_RETURN(const std::span<float> logits, Logits(rows.subspan(row, 1)));
    k_.top_k(logits.data(), spec_.vocabulary_size, k, top_.data() + row * static_cast<size_t>(k));
  }
  return top_;
}

absl::StatusOr<std::span<const float>> CpuDevice::LogSumExp(std::span<const int32_t> rows) {
  log_sums_.resize(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    ASSIGN_OR_RETURN(const std::span<float> logits, Logits(rows.subspan(row, 1)));
    log_sums_[row] = k_.log_sum_exp(logits.data(), spec_.vocabulary_size);
  }
  return log_sums_;
}

// Between two layers, further streams have what the first one has, too.
int64_t CpuDevice::stream_floats() const {
  return spec_.altup.streams > 0 ? spec_.altup.streams * spec_.width : spec_.width;
}

absl::Status CpuDevice::ReadStream(std::span<float> stream) {
  const float* const from = spec_.altup.streams > 0 ? streams_ : x_;
  std::copy_n(from, stream.size(), stream.begin());
  return absl::OkStatus();
}

absl::Status CpuDevice::WriteStream(std::span<const float> stream) {
  std::copy(stream.begin(), stream.end(), spec_.altup.streams > 0 ? streams_ : x_);
  return absl::OkStatus();
}

}  // namespace inferd::device
