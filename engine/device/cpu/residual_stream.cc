#include "engine/device/cpu/residual_stream.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::device {
namespace {

// Asks for a row's columns: where rows lie far apart, no stream of addresses tells the processor.
void Prefetch(const float* columns, int64_t n) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t i = 0; i < n; i += kLineFloats) __builtin_prefetch(columns + i, 1);
}

}  // namespace

absl::Status ResidualStream::Allocate(int64_t most_rows) {
  for (float** rows : {&x_, &branch_}) {
    ASSIGN_OR_RETURN(*rows, workspace_.Take<float>(most_rows * spec_.width));
  }
  return absl::OkStatus();
}

void ResidualStream::StoreNormed(const model::Norm& norm, const Activations& out) const {
  processor_.ForRows(batch_.rows(),
                     [&](int64_t row, int32_t thread) { processor_.StoreRow(norm, Row(row), row, out, thread); });
}

// x += factor * branch for part of a row.
void ResidualStream::AddToRow(const float* branch, int64_t n, float* x) const {
  if (spec_.residual_scale == 1) {
    k_.add(x, branch, n, x);
  } else {
    k_.add_scaled(branch, spec_.residual_scale, n, x);
  }
}

void ResidualStream::AddProduct(const Activations& inner, const model::Linear& linear, const model::Norm& on_branch,
                                const model::Norm& on_sum) {
  const Products& products = processor_.products();
  const int64_t width = spec_.width, rows = batch_.rows();
  if (on_branch.present || on_sum.present) {
    const Product product{&linear, branch_, width};
    products.Multiply(inner, rows, {&product, 1});
    return AddBranch(on_branch, on_sum);
  }
  const int64_t step = products.RowsPerItem(width, rows);
  processor_.pool().Run((width + step - 1) / step, [&](int64_t item, int32_t thread) {
    const int64_t begin = item * step, n = std::min(step, width - begin);
    float* const columns = processor_.scratch(thread).columns;
    const float* branch = columns;
    products.MultiplyColumns(inner, nullptr, rows, linear, begin, begin + n, columns, thread,
                             products.LikelyAfter(linear, begin, step));
    for (int64_t row = 0; row < rows; ++row, branch += n) {
      constexpr int64_t kRowsAhead = 6;
      if (row + kRowsAhead < rows) Prefetch(Row(row + kRowsAhead) + begin, n);
      AddToRow(branch, n, Row(row) + begin);
    }
  });
}

void ResidualStream::AddBranch(const model::Norm& on_branch, const model::Norm& on_sum) {
  const int64_t width = spec_.width;
  processor_.ForRows(batch_.rows(), [&](int64_t row, int32_t) {
    float *x = Row(row), *branch = BranchRow(row);
    if (on_branch.present) processor_.ApplyNorm(on_branch, branch, width, branch);
    AddToRow(branch, width, x);
    if (on_sum.present) processor_.ApplyNorm(on_sum, x, width, x);
  });
}

void ResidualStream::Scale(float factor) {
  processor_.ForRows(batch_.rows(), [&](int64_t row, int32_t) { k_.scale(Row(row), factor, spec_.width, Row(row)); });
}

}  // namespace inferd::device
