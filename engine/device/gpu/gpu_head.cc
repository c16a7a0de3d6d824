#include "engine/device/gpu/gpu_head.h"

#include <algorithm>

namespace inferd::device {

absl::Status GpuHead::Allocate() {
  const int64_t rows = c_.options.max_result_rows;
  RETURN_IF_ERROR(c_.math.Upload(c_.weights.head));
  RETURN_IF_ERROR(c_.math.Upload(c_.weights.output_norm, c_.spec.width));
  for (const model::Linear* linear : {&c_.weights.rank_dense, &c_.weights.rank_output}) {
    RETURN_IF_ERROR(c_.math.Upload(*linear));
  }
  ASSIGN_OR_RETURN(input_, c_.math.TakeInput(rows, c_.spec.width));
  ASSIGN_OR_RETURN(hidden_, c_.math.TakeFloats(rows * c_.spec.width));
  ASSIGN_OR_RETURN(logits_, c_.math.TakeFloats(std::min(rows, kMostLogitsRows) * c_.spec.vocabulary_size));
  return absl::OkStatus();
}

absl::Status GpuHead::MakeHidden(std::span<const int32_t> rows) {
  CHECK(static_cast<int64_t>(rows.size()) <= c_.options.max_result_rows);
  wanted_.host().assign(rows.begin(), rows.end());
  RETURN_IF_ERROR(wanted_.Upload());
  const auto count = static_cast<int64_t>(rows.size());
  auto* const hidden = hidden_.As<float>();
  c_.gpu.GatherRows(stream_.x(), wanted_.data(), count, c_.spec.width, hidden);
  if (c_.weights.output_norm.present) {
    c_.math.ApplyNorm(c_.weights.output_norm, count, c_.spec.width, hidden, hidden);
  }
  return absl::OkStatus();
}

absl::Status GpuHead::MakeLogits(std::span<const int32_t> rows) {
  CHECK(static_cast<int64_t>(rows.size()) <= kMostLogitsRows);
  RETURN_IF_ERROR(MakeHidden(rows));
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t n = count * c_.spec.vocabulary_size;
  auto* const logits = logits_.As<float>();
  const Input input = c_.math.Store(hidden_.As<float>(), count, c_.spec.width, {&c_.weights.head}, input_);
  c_.math.Multiply(c_.weights.head, input, count, logits);
  if (c_.spec.logit_scale != 1) c_.gpu.Scale(logits, c_.spec.logit_scale, n, logits);
  if (c_.spec.logit_soft_cap != 0) c_.gpu.SoftCap(logits, c_.spec.logit_soft_cap, n, logits);
  return absl::OkStatus();
}

absl::StatusOr<std::span<float>> GpuHead::Hidden(std::span<const int32_t> rows) {
  RETURN_IF_ERROR(MakeHidden(rows));
  hidden_rows_.resize(rows.size() * static_cast<size_t>(c_.spec.width));
  c_.gpu.Copy(hidden_rows_.data(), hidden_.As<float>(), hidden_rows_.size() * sizeof(float));
  RETURN_IF_ERROR(WaitFor(c_.gpu));
  return std::span(hidden_rows_);
}

absl::StatusOr<std::span<float>> GpuHead::Logits(std::span<const int32_t> rows) {
  if (rows.empty()) return std::span<float>();
  RETURN_IF_ERROR(MakeLogits(rows));
  logits_rows_.resize(rows.size() * static_cast<size_t>(c_.spec.vocabulary_size));
  c_.gpu.Copy(logits_rows_.data(), logits_.As<float>(), logits_rows_.size() * sizeof(float));
  RETURN_IF_ERROR(WaitFor(c_.gpu));
  return std::span(logits_rows_);
}

absl::StatusOr<std::span<const kernels::TopEntry>> GpuHead::TopK(std::span<const int32_t> rows, int32_t k) {
  CHECK(k >= 1 && k <= c_.spec.vocabulary_size);
  const auto row_entries = static_cast<size_t>(k);
  top_.resize(rows.size() * row_entries);
  RETURN_IF_ERROR(best_.Reserve(kMostLogitsRows * k * static_cast<int64_t>(sizeof(kernels::TopEntry))));
  for (size_t done = 0; done < rows.size();) {
    const size_t count = std::min<size_t>(rows.size() - done, kMostLogitsRows);
    RETURN_IF_ERROR(MakeLogits(rows.subspan(done, count)));
    c_.gpu.TopK(logits_.As<float>(), static_cast<int64_t>(count), c_.spec.vocabulary_size, k,
                best_.As<kernels::TopEntry>());
    c_.gpu.Copy(top_.data() + done * row_entries, best_.As<kernels::TopEntry>(),
                count * row_entries * sizeof(kernels::TopEntry));
    RETURN_IF_ERROR(WaitFor(c_.gpu));
    done += count;
  }
  return std::span<const kernels::TopEntry>(top_);
}

absl::StatusOr<std::span<const float>> GpuHead::LogSumExp(std::span<const int32_t> rows, const kernels::Kernels& host) {
  log_sums_.resize(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    ASSIGN_OR_RETURN(const std::span<float> logits, Logits(rows.subspan(row, 1)));
    log_sums_[row] = host.log_sum_exp(logits.data(), c_.spec.vocabulary_size);
  }
  return std::span<const float>(log_sums_);
}

absl::Status GpuHead::Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) {
  CHECK(linear.weights.k == c_.spec.width && x.size() == static_cast<size_t>(c_.spec.width));
  vector_.host().assign(x.begin(), x.end());
  RETURN_IF_ERROR(vector_.Upload());
  RETURN_IF_ERROR(projected_.Reserve(linear.weights.rows * static_cast<int64_t>(sizeof(float))));
  auto* const out = projected_.As<float>();
  c_.math.Multiply(linear, c_.math.Store(vector_.data(), 1, c_.spec.width, {&linear}, input_), 1, out);
  c_.gpu.Copy(y.data(), out, y.size() * sizeof(float));
  return WaitFor(c_.gpu);
}

}  // namespace inferd::device
