#include "engine/device/cpu/processor.h"

#include "config/base/status.h"

namespace inferd::device {

using kernels::ActivationFormat;

Processor::Processor(const kernels::Kernels& k, int32_t threads, std::span<const kernels::WeightMatrix> matrices)
    : k_(k), matrices_(matrices), pool_(threads), scratch_(threads), products_(k_, pool_, scratch_) {}

absl::Status Processor::Allocate(int64_t widest_row, int64_t most_rows) {
  size_t matmul = 64;
  for (const kernels::WeightMatrix& matrix : matrices_) {
    matmul = std::max(matmul, k_.matmul_scratch_bytes(matrix.type, matrix.k));
  }
  for (ThreadScratch& scratch : scratch_) {
    ASSIGN_OR_RETURN(scratch.matmul, workspace_.Take<uint8_t>(static_cast<int64_t>(matmul)));
    ASSIGN_OR_RETURN(scratch.row, workspace_.Take<float>(widest_row));
    ASSIGN_OR_RETURN(scratch.other_row, workspace_.Take<float>(widest_row));
    for (float** columns : {&scratch.columns, &scratch.other_columns}) {
      ASSIGN_OR_RETURN(*columns, workspace_.Take<float>(Products::MostOfItem(most_rows)));
    }
  }
  return absl::OkStatus();
}

absl::Status Processor::UseBlas() {
  ASSIGN_OR_RETURN(const Blas blas, Blas::Open());
  int64_t longest = 0;
  for (const kernels::WeightMatrix& matrix : matrices_) {
    if (kernels::TraitsOf(matrix.type).activation == ActivationFormat::kFloat) longest = std::max(longest, matrix.k);
  }
  if (longest == 0) return absl::OkStatus();
  for (ThreadScratch& scratch : scratch_) {
    ASSIGN_OR_RETURN(scratch.blas, workspace_.Take<float>(Products::kBlasRows * longest));
  }
  products_.UseBlas(blas);
  return absl::OkStatus();
}

absl::StatusOr<Activations> Processor::TakeActivations(Workspace& workspace, int64_t rows, int64_t widest) const {
  Formats formats;
  for (const kernels::WeightMatrix& matrix : matrices_) formats.Add(matrix.type);
  Activations activations;
  for (ActivationFormat format : Formats::kAll) {
    if (!formats.Has(format)) continue;
    const auto row_bytes = static_cast<int64_t>(k_.activation_row_bytes(format, RoundUp(widest, 256)));
    ASSIGN_OR_RETURN(activations.data[static_cast<size_t>(format)], workspace.Take<uint8_t>(rows * row_bytes));
  }
  return activations;
}

void Processor::ApplyNorm(const model::Norm& norm, const float* x, int64_t n, float* out) const {
  if (norm.kind != model::NormKind::kLayer) {
    k_.rms_norm(x, norm.weight, norm.epsilon, n, out);
    if (norm.bias != nullptr) k_.add(out, norm.bias, n, out);
  } else {
    k_.layer_norm(x, norm.weight, norm.bias, norm.epsilon, n, out);
  }
}

void Processor::StoreRow(const model::Norm& norm, const float* x, int64_t row, const Activations& out,
                         int32_t thread) const {
  if (norm.present) {
    ApplyNorm(norm, x, out.k, scratch_[thread].row);
    x = scratch_[thread].row;
  }
  products_.Store(out, row, x);
}

}  // namespace inferd::device
