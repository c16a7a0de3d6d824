// Feed-forward networks of experts: each token's router chooses a few, and tokens of one expert are multiplied
// together.
//
// A slot is one chosen expert of one token. Slots are sorted by expert for the products, and summed for each token in
// the order of its choice, so that a token's result does not depend on which others share its experts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/device/cpu/cpu_device.h"

namespace inferd::device {
namespace {

model::Linear MatrixOf(const model::ExpertLinear& experts, int64_t expert) {
  model::Linear linear{.name = experts.name, .weights = experts.weights};
  if (!experts) return linear;
  linear.weights.data = static_cast<const uint8_t*>(experts.weights.data) + expert * experts.expert_bytes;
  if (experts.bias != nullptr) linear.bias = experts.bias + expert * experts.bias_stride;
  if (experts.scale != nullptr) linear.scale = experts.scale + expert;
  return linear;
}

kernels::RouterScore ScoreOf(model::Gating gating) {
  switch (gating) {
    case model::Gating::kSoftmax:
      return kernels::RouterScore::kSoftmax;
    case model::Gating::kSigmoid:
      return kernels::RouterScore::kSigmoid;
    case model::Gating::kSoftmaxOfChosen:
      return kernels::RouterScore::kSoftmaxOfChosen;
  }
  return kernels::RouterScore::kSoftmax;
}

}  // namespace

void CpuDevice::ExpertFeedForward(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  if (e.router_input == model::RouterInput::kScaledNorm) RouteScaled(layer);
  if (e.input == model::ExpertInput::kOwnNorm) PrepareExpertInput(layer);
  if (e.router_input == model::RouterInput::kExperts) RouteRows(layer, ExpertInputOf(e));
  SortByExpert(e);
  RunExperts(layer);
  CombineExperts(layer);
  if (e.shared_width > 0) AddSharedExpert(layer);
  if (e.sum_scale != 1) k_.scale(branch_, e.sum_scale, rows_ * spec_.width, branch_);
  AddBranchRows(w.after_feed_forward, w.after_feed_forward_sum);
}

const Activations& CpuDevice::ExpertInputOf(const model::ExpertSpec& e) const {
  return e.input == model::ExpertInput::kFeedForward ? feed_forward_input_ : expert_input_;
}

void CpuDevice::PrepareExpertInput(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  expert_input_.formats = Formats::Of({&w.router});
  for (const model::ExpertLinear* experts : {&w.expert_gate, &w.expert_up}) {
    if (*experts) expert_input_.formats.Add(experts->weights.type);
  }
  expert_input_.k = spec_.width;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    StoreRow(w.before_experts, x_ + row * spec_.width, row, expert_input_, thread);
  });
}

void CpuDevice::RouteBeforeMixer(int32_t layer) {
  expert_input_.formats = Formats::Of({&weights_.layers[layer].feed_forward.router});
  expert_input_.k = spec_.width;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(expert_input_, row, x_ + row * spec_.width); });
  RouteRows(layer, expert_input_);
}

void CpuDevice::RouteScaled(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const int64_t width = spec_.width;
  const float factor = 1.0f / std::sqrt(static_cast<float>(width));
  expert_input_.formats = Formats::Of({&w.router});
  expert_input_.k = width;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    float* normed = scratch_[thread].row;
    k_.rms_norm(x_ + row * width, nullptr, spec_.norm.epsilon, width, normed);
    k_.scale(normed, factor, width, normed);
    k_.multiply(normed, w.router_scale, width, normed);
    products_.Store(expert_input_, row, normed);
  });
  RouteRows(layer, expert_input_);
}

void CpuDevice::RouteRows(int32_t layer, const Activations& read) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  const Product product{&w.router, router_logits_.data(), e.count};
  products_.Multiply(read, rows_, {&product, 1});
  ForRows(rows_, [&](int64_t row, int32_t) {
    k_.route({.score = ScoreOf(e.gating),
              .experts = static_cast<int32_t>(e.count),
              .chosen = static_cast<int32_t>(e.used),
              .logits = router_logits_.data() + row * e.count,
              .selection_bias = w.selection_bias,
              .groups = static_cast<int32_t>(e.groups),
              .groups_used = static_cast<int32_t>(e.groups_used),
              .normalize = e.normalize,
              .scale = e.weight_scale,
              .ids = expert_ids_.data() + row * e.used,
              .weights = expert_weights_.data() + row * e.used});
  });
}

// Fills expert_runs_, sorted_rows_ (the batch row of each sorted slot) and slot_places_ (where each slot went).
void CpuDevice::SortByExpert(const model::ExpertSpec& e) {
  const int64_t slots = rows_ * e.used;
  std::vector<int64_t>& begin = expert_begins_;
  begin.assign(e.count + 1, 0);
  for (int64_t slot = 0; slot < slots; ++slot) ++begin[expert_ids_[slot] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  expert_runs_.clear();
  for (int64_t expert = 0; expert < e.count; ++expert) {
    if (begin[expert] < begin[expert + 1])
      expert_runs_.push_back({static_cast<int32_t>(expert), begin[expert], begin[expert + 1]});
  }
  for (int64_t slot = 0; slot < slots; ++slot) {
    const int64_t place = begin[expert_ids_[slot]]++;
    slot_places_[slot] = static_cast<int32_t>(place);
    sorted_rows_[place] = static_cast<int32_t>(slot / e.used);
  }
}

void CpuDevice::RunExperts(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  const int64_t width = f.experts.width, slots = rows_ * f.experts.used;
  const auto runs = static_cast<int64_t>(expert_runs_.size());
  const auto divide = [&](int64_t rows, auto task) {
    const int64_t step = products_.RowsPerItem(rows * std::max<int64_t>(runs, 1), rows_),
                  parts = (rows + step - 1) / step;
    pool_.Run(runs * parts, [&](int64_t item, int32_t thread) {
      const int64_t begin = item % parts * step;
      task(expert_runs_[item / parts], begin, std::min(rows, begin + step), thread);
    });
  };
  if (f.experts.weigh_input) StoreWeighedInputs(layer);
  divide(width, [&](const ExpertRun& run, int64_t begin, int64_t end, int32_t thread) {
    const Activations& input = f.experts.weigh_input ? slots_ : ExpertInputOf(f.experts);
    const std::vector<int32_t>& input_rows = f.experts.weigh_input ? all_slots_ : sorted_rows_;
    const model::Linear gate = MatrixOf(w.expert_gate, run.expert), up = MatrixOf(w.expert_up, run.expert);
    GateAndUp(f,
              {&gate, &up, &input, input_rows.data() + run.begin, run.end - run.begin, inner_rows_ + run.begin * width,
               width, f.experts.limit},
              begin, end, thread);
  });
  slots_.formats = Formats();
  slots_.formats.Add(w.expert_down.weights.type);
  slots_.k = width;
  ForRows(slots, [&](int64_t slot, int32_t) { products_.Store(slots_, slot, inner_rows_ + slot * width); });
  divide(spec_.width, [&](const ExpertRun& run, int64_t begin, int64_t end, int32_t thread) {
    products_.MultiplyRows(slots_, all_slots_.data() + run.begin, run.end - run.begin,
                           MatrixOf(w.expert_down, run.expert), begin, end, expert_out_ + run.begin * spec_.width,
                           spec_.width, thread);
  });
}

// slots_ becomes the normed row of each slot times the slot's weight.
void CpuDevice::StoreWeighedInputs(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  const int64_t width = spec_.width;
  slots_.formats = feed_forward_input_.formats;
  slots_.k = width;
  ForRows(rows_, [&](int64_t row, int32_t thread) {
    const float* x = x_ + row * width;
    float *normed = scratch_[thread].row, *weighed = scratch_[thread].other_row;
    if (w.before_feed_forward.present) {
      ApplyNorm(w.before_feed_forward, x, width, normed);
      x = normed;
    }
    for (int64_t slot = row * e.used; slot < (row + 1) * e.used; ++slot) {
      k_.scale(x, expert_weights_[slot], width, weighed);
      products_.Store(slots_, slot_places_[slot], weighed);
    }
  });
}

void CpuDevice::CombineExperts(int32_t layer) {
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  const model::Norm& after = weights_.layers[layer].feed_forward.after_experts;
  const int64_t width = spec_.width;
  ForRows(rows_, [&](int64_t row, int32_t) {
    float* sum = branch_ + row * width;
    for (int64_t j = 0; j < e.used; ++j) {
      const float* out = expert_out_ + slot_places_[row * e.used + j] * width;
      const float weight = e.weigh_input ? 1.0f : expert_weights_[row * e.used + j];
      if (j == 0) {
        k_.scale(out, weight, width, sum);
      } else {
        k_.add_scaled(out, weight, width, sum);
      }
    }
    if (after.present) ApplyNorm(after, sum, width, sum);
  });
}

void CpuDevice::AddSharedExpert(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  const int64_t width = spec_.width, inner = f.experts.shared_width;
  RunGatedPair(f, {&w.shared_gate, &w.shared_up, &feed_forward_input_, nullptr, rows_, inner_rows_, inner, f.limit});
  inner_.formats = Formats::Of({&w.shared_down});
  inner_.k = inner;
  ForRows(rows_, [&](int64_t row, int32_t) { products_.Store(inner_, row, inner_rows_ + row * inner); });
  float *shared = expert_out_, *gates = router_logits_.data();  // both are free by now
  const Product down{&w.shared_down, shared, width};
  products_.Multiply(inner_, rows_, {&down, 1});
  if (w.shared_router) {
    const Product router{&w.shared_router, gates, 1};
    products_.Multiply(feed_forward_input_, rows_, {&router, 1});
    k_.activate(kernels::Activation::kSigmoid, gates, rows_, gates);
  }
  ForRows(rows_, [&](int64_t row, int32_t) {
    float* sum = branch_ + row * width;
    if (w.after_shared.present) ApplyNorm(w.after_shared, shared + row * width, width, shared + row * width);
    if (w.shared_router) {
      k_.add_scaled(shared + row * width, gates[row], width, sum);
    } else {
      k_.add(sum, shared + row * width, width, sum);
    }
  });
}

}  // namespace inferd::device
