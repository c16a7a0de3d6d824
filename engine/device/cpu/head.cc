#include "engine/device/cpu/head.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::device {

absl::Status Head::Allocate() {
  const int64_t rows = options_.max_result_rows;
  ASSIGN_OR_RETURN(input_, TakeActivations(rows, spec_.width));
  ASSIGN_OR_RETURN(hidden_, workspace_.Take<float>(rows * spec_.width));
  ASSIGN_OR_RETURN(logits_, workspace_.Take<float>(std::min(rows, kMostLogitsRows) * spec_.vocabulary_size));
  return absl::OkStatus();
}

std::span<float> Head::Hidden(std::span<const int32_t> rows) {
  const int64_t width = spec_.width;
  const auto wanted = static_cast<int64_t>(rows.size());
  CHECK(wanted <= options_.max_result_rows);
  processor_.ForRows(wanted, [&](int64_t i, int32_t) {
    const float* x = stream_.Row(rows[i]);
    if (weights_.output_norm.present) {
      ApplyNorm(weights_.output_norm, x, width, hidden_ + i * width);
    } else {
      std::copy(x, x + width, hidden_ + i * width);
    }
  });
  return {hidden_, static_cast<size_t>(wanted * width)};
}

std::span<float> Head::Logits(std::span<const int32_t> rows) {
  const int64_t vocabulary = spec_.vocabulary_size;
  const auto wanted = static_cast<int64_t>(rows.size());
  CHECK(wanted <= std::min(options_.max_result_rows, kMostLogitsRows));
  if (wanted == 0) return {};
  input_.formats = Formats::Of({&weights_.head});
  input_.k = spec_.width;
  processor_.ForRows(wanted, [&](int64_t i, int32_t thread) {
    StoreRow(weights_.output_norm, stream_.Row(rows[i]), i, input_, thread);
  });
  const Product product{&weights_.head, logits_, vocabulary};
  products_.Multiply(input_, wanted, {&product, 1}, [&](const Part& part, int32_t) {
    for (int64_t i = 0; i < wanted; ++i) {
      float* logits = logits_ + i * vocabulary + part.row_begin;
      const int64_t n = part.row_end - part.row_begin;
      if (spec_.logit_scale != 1) k_.scale(logits, spec_.logit_scale, n, logits);
      if (spec_.logit_soft_cap != 0) k_.soft_cap(logits, spec_.logit_soft_cap, n, logits);
    }
  });
  return {logits_, static_cast<size_t>(wanted * vocabulary)};
}

std::span<const kernels::TopEntry> Head::TopK(std::span<const int32_t> rows, int32_t k) {
  CHECK(k >= 1 && k <= spec_.vocabulary_size);
  top_.resize(rows.size() * static_cast<size_t>(k));
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::span<const float> logits = Logits(rows.subspan(row, 1));
    k_.top_k(logits.data(), spec_.vocabulary_size, k, top_.data() + row * static_cast<size_t>(k));
  }
  return top_;
}

std::span<const float> Head::LogSumExp(std::span<const int32_t> rows) {
  log_sums_.resize(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    log_sums_[row] = k_.log_sum_exp(Logits(rows.subspan(row, 1)).data(), spec_.vocabulary_size);
  }
  return log_sums_;
}

void Head::Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) {
  CHECK(linear.weights.k == spec_.width && x.size() == static_cast<size_t>(spec_.width));
  input_.formats = Formats::Of({&linear});
  input_.k = spec_.width;
  products_.Store(input_, 0, x.data());
  const Product product{&linear, y.data(), static_cast<int64_t>(y.size())};
  products_.Multiply(input_, 1, {&product, 1});
}

}  // namespace inferd::device
