// Work on single rows that many steps share: norms, quantization, and closing a branch of the residual stream.
#include <algorithm>

#include "engine/device/cpu/cpu_device.h"

namespace inferd::device {
namespace {

// Asks for a row's columns: where rows lie far apart, no stream of addresses tells the processor.
void Prefetch(const float* columns, int64_t n) {
  constexpr int64_t kLineFloats = 16;
  for (int64_t i = 0; i < n; i += kLineFloats) __builtin_prefetch(columns + i, 1);
}

}  // namespace

void CpuDevice::ApplyNorm(const model::Norm& norm, const float* x, int64_t n, float* out) const {
  if (norm.kind != model::NormKind::kLayer) {
    k_.rms_norm(x, norm.weight, norm.epsilon, n, out);
    if (norm.bias != nullptr) k_.add(out, norm.bias, n, out);
  } else {
    k_.layer_norm(x, norm.weight, norm.bias, norm.epsilon, n, out);
  }
}

void CpuDevice::StoreRow(const model::Norm& norm, const float* x, int64_t row, const Activations& out, int32_t thread) {
  if (norm.present) {
    ApplyNorm(norm, x, out.k, scratch_[thread].row);
    x = scratch_[thread].row;
  }
  products_.Store(out, row, x);
}

void CpuDevice::PrepareMixerInput(int32_t layer, Formats formats) {
  const model::LayerWeights& w = weights_.layers[layer];
  mixer_input_.formats = formats;
  mixer_input_.k = spec_.width;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    StoreRow(w.before_mixer, x_ + row * spec_.width, row, mixer_input_, thread);
  });
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  if (e.input == model::ExpertInput::kOwnNormBeforeMixer) PrepareExpertInput(layer);
  if (e.router_input == model::RouterInput::kBeforeMixer) RouteBeforeMixer(layer);
  if (spec_.parallel) PrepareFeedForwardInput(layer);  // from the same x, before the mixer changes it
}

void CpuDevice::PrepareFeedForwardInput(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::FeedForwardWeights& f = w.feed_forward;
  Formats formats = Formats::Of({&f.gate, &f.up, &f.router, &f.shared_gate, &f.shared_up, &f.shared_router});
  for (const model::ExpertLinear* experts : {&f.expert_gate, &f.expert_up}) {
    if (*experts) formats.Add(experts->weights.type);
  }
  feed_forward_input_.formats = formats;
  feed_forward_input_.k = spec_.width;
  const model::Norm& norm = spec_.parallel && !w.before_feed_forward.present ? w.before_mixer : w.before_feed_forward;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    StoreRow(norm, x_ + row * spec_.width, row, feed_forward_input_, thread);
  });
}

// out[row] += factor * branch[row] for part of a row.
void CpuDevice::AddToStream(const float* branch, int64_t n, float* x) const {
  if (spec_.residual_scale == 1) {
    k_.add(x, branch, n, x);
  } else {
    k_.add_scaled(branch, spec_.residual_scale, n, x);
  }
}

void CpuDevice::AddBranch(const model::Linear& linear, const model::Norm& on_branch, const model::Norm& on_sum) {
  const int64_t width = spec_.width;
  if (on_branch.present || on_sum.present) {
    const Product product{&linear, branch_, width};
    products_.Multiply(inner_, rows_, {&product, 1});
    return AddBranchRows(on_branch, on_sum);
  }
  const int64_t step = products_.RowsPerItem(width, rows_);
  pool_.Run((width + step - 1) / step, [&](int64_t item, int32_t thread) {
    const int64_t begin = item * step, n = std::min(step, width - begin);
    const float* branch = scratch_[thread].columns;
    products_.MultiplyColumns(inner_, nullptr, rows_, linear, begin, begin + n, scratch_[thread].columns, thread,
                              products_.LikelyAfter(linear, begin, step));
    for (int64_t row = 0; row < rows_; ++row, branch += n) {
      constexpr int64_t kRowsAhead = 6;
      if (row + kRowsAhead < rows_) Prefetch(x_ + (row + kRowsAhead) * width + begin, n);
      AddToStream(branch, n, x_ + row * width + begin);
    }
  });
}

void CpuDevice::AddBranchRows(const model::Norm& on_branch, const model::Norm& on_sum) {
  const int64_t width = spec_.width;
  ForRows(rows_, [&](int64_t row, int32_t) {
    float *x = x_ + row * width, *branch = branch_ + row * width;
    if (on_branch.present) ApplyNorm(on_branch, branch, width, branch);
    AddToStream(branch, width, x);
    if (on_sum.present) ApplyNorm(on_sum, x, width, x);
  });
}

}  // namespace inferd::device
