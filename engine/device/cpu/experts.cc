#include "engine/device/cpu/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "config/base/status.h"
#include "engine/device/cpu/gated_pair.h"

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

void AddExperts(const model::FeedForwardWeights& w, Formats& formats) {
  for (const model::ExpertLinear* experts : {&w.expert_gate, &w.expert_up}) {
    if (*experts) formats.Add(experts->weights.type);
  }
}

}  // namespace

absl::Status Experts::Allocate() {
  int64_t used = 0, count = 0, inner = 0, shared = 0, widest = 0;
  bool own_input = false;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::ExpertSpec& e = layer.feed_forward.experts;
    if (!Has(layer)) continue;
    own_input =
        own_input || e.input != model::ExpertInput::kFeedForward || e.router_input != model::RouterInput::kExperts;
    used = std::max(used, e.used);
    count = std::max(count, e.count);
    inner = std::max({inner, e.used * e.width, e.shared_width});
    shared = std::max(shared, e.shared_width);
    widest = std::max({widest, e.width, e.weigh_input ? spec_.width : 0});
  }
  const int64_t slots = most_rows() * used;
  ASSIGN_OR_RETURN(input_, TakeActivations(most_rows(), spec_.width));
  if (own_input) {
    ASSIGN_OR_RETURN(own_input_, TakeActivations(most_rows(), spec_.width));
  }
  ASSIGN_OR_RETURN(slots_, TakeActivations(slots, widest));
  ASSIGN_OR_RETURN(shared_inner_, TakeActivations(most_rows(), shared));
  ASSIGN_OR_RETURN(inner_rows_, TakeRows(inner));
  ASSIGN_OR_RETURN(out_, TakeRows(used * spec_.width));
  router_logits_.resize(most_rows() * count);
  begins_.reserve(count + 1);
  groups_.reserve(count);
  ids_.resize(slots);
  weights_of_slots_.resize(slots);
  sorted_rows_.resize(slots);
  places_.resize(slots);
  all_slots_.resize(slots);
  std::iota(all_slots_.begin(), all_slots_.end(), 0);
  return absl::OkStatus();
}

void Experts::BeforeMixer(int32_t layer) {
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  if (e.input == model::ExpertInput::kOwnNormBeforeMixer) PrepareOwnInput(layer);
  if (e.router_input == model::RouterInput::kBeforeMixer) RouteUnnormed(layer);
  if (spec_.parallel) PrepareInput(layer);
}

void Experts::Run(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  if (!spec_.parallel) PrepareInput(layer);
  if (e.router_input == model::RouterInput::kScaledNorm) RouteScaled(layer);
  if (e.input == model::ExpertInput::kOwnNorm) PrepareOwnInput(layer);
  if (e.router_input == model::RouterInput::kExperts) RouteRows(layer, InputOf(e));
  SortByExpert(e);
  RunChosen(layer);
  Combine(layer);
  if (e.shared_width > 0) AddShared(layer);
  if (e.sum_scale != 1) k_.scale(stream_.BranchRow(0), e.sum_scale, rows() * spec_.width, stream_.BranchRow(0));
  stream_.AddBranch(w.after_feed_forward, w.after_feed_forward_sum);
}

void Experts::PrepareInput(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  input_.formats = Formats::Of({&w.router, &w.shared_gate, &w.shared_up, &w.shared_router});
  AddExperts(w, input_.formats);
  input_.k = spec_.width;
  stream_.StoreNormed(InputNorm(layer), input_);
}

const Activations& Experts::InputOf(const model::ExpertSpec& e) const {
  return e.input == model::ExpertInput::kFeedForward ? input_ : own_input_;
}

void Experts::PrepareOwnInput(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  own_input_.formats = Formats::Of({&w.router});
  AddExperts(w, own_input_.formats);
  own_input_.k = spec_.width;
  stream_.StoreNormed(w.before_experts, own_input_);
}

void Experts::RouteUnnormed(int32_t layer) {
  own_input_.formats = Formats::Of({&weights_.layers[layer].feed_forward.router});
  own_input_.k = spec_.width;
  stream_.StoreNormed({}, own_input_);
  RouteRows(layer, own_input_);
}

void Experts::RouteScaled(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const int64_t width = spec_.width;
  const float factor = 1.0f / std::sqrt(static_cast<float>(width));
  own_input_.formats = Formats::Of({&w.router});
  own_input_.k = width;
  ForRows([&](int64_t row, int32_t thread) {
    float* normed = scratch(thread).row;
    k_.rms_norm(stream_.Row(row), nullptr, spec_.norm.epsilon, width, normed);
    k_.scale(normed, factor, width, normed);
    k_.multiply(normed, w.router_scale, width, normed);
    products_.Store(own_input_, row, normed);
  });
  RouteRows(layer, own_input_);
}

void Experts::RouteRows(int32_t layer, const Activations& read) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  const Product product{&w.router, router_logits_.data(), e.count};
  products_.Multiply(read, rows(), {&product, 1});
  ForRows([&](int64_t row, int32_t) {
    k_.route({.score = ScoreOf(e.gating),
              .experts = static_cast<int32_t>(e.count),
              .chosen = static_cast<int32_t>(e.used),
              .logits = router_logits_.data() + row * e.count,
              .selection_bias = w.selection_bias,
              .groups = static_cast<int32_t>(e.groups),
              .groups_used = static_cast<int32_t>(e.groups_used),
              .normalize = e.normalize,
              .scale = e.weight_scale,
              .ids = ids_.data() + row * e.used,
              .weights = weights_of_slots_.data() + row * e.used});
  });
}

// Fills groups_, sorted_rows_ and places_.
void Experts::SortByExpert(const model::ExpertSpec& e) {
  const int64_t slots = rows() * e.used;
  std::vector<int64_t>& begin = begins_;
  begin.assign(e.count + 1, 0);
  for (int64_t slot = 0; slot < slots; ++slot) ++begin[ids_[slot] + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  groups_.clear();
  for (int64_t expert = 0; expert < e.count; ++expert) {
    if (begin[expert] < begin[expert + 1])
      groups_.push_back({static_cast<int32_t>(expert), begin[expert], begin[expert + 1]});
  }
  for (int64_t slot = 0; slot < slots; ++slot) {
    const int64_t place = begin[ids_[slot]]++;
    places_[slot] = static_cast<int32_t>(place);
    sorted_rows_[place] = static_cast<int32_t>(slot / e.used);
  }
}

// task(group, begin, end, thread) for parts of each group's matrix of so many rows.
template <typename Task>
void Experts::ForGroups(int64_t rows_of_matrix, Task task) {
  const auto groups = static_cast<int64_t>(groups_.size());
  const int64_t step = products_.RowsPerItem(rows_of_matrix * std::max<int64_t>(groups, 1), rows());
  const int64_t parts = (rows_of_matrix + step - 1) / step;
  pool_.Run(groups * parts, [&](int64_t item, int32_t thread) {
    const int64_t begin = item % parts * step;
    task(groups_[item / parts], begin, std::min(rows_of_matrix, begin + step), thread);
  });
}

void Experts::RunChosen(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  const int64_t width = f.experts.width, slots = rows() * f.experts.used;
  const bool weighed = f.experts.weigh_input;
  if (weighed) StoreWeighedInputs(layer);
  const Activations& input = weighed ? slots_ : InputOf(f.experts);
  const std::vector<int32_t>& input_rows = weighed ? all_slots_ : sorted_rows_;
  ForGroups(width, [&](const Group& group, int64_t begin, int64_t end, int32_t thread) {
    const model::Linear gate = MatrixOf(w.expert_gate, group.expert), up = MatrixOf(w.expert_up, group.expert);
    MultiplyGatedPair(processor_, f,
                      {.gate = &gate,
                       .up = &up,
                       .input = &input,
                       .input_rows = input_rows.data() + group.begin,
                       .tokens = group.end - group.begin,
                       .out = inner_rows_ + group.begin * width,
                       .stride = width,
                       .limit = f.experts.limit},
                      begin, end, thread);
  });
  slots_.formats = Formats();
  slots_.formats.Add(w.expert_down.weights.type);
  slots_.k = width;
  processor_.ForRows(slots, [&](int64_t slot, int32_t) { products_.Store(slots_, slot, inner_rows_ + slot * width); });
  ForGroups(spec_.width, [&](const Group& group, int64_t begin, int64_t end, int32_t thread) {
    products_.MultiplyRows(slots_, all_slots_.data() + group.begin, group.end - group.begin,
                           MatrixOf(w.expert_down, group.expert), begin, end, out_ + group.begin * spec_.width,
                           spec_.width, thread);
  });
}

// slots_ becomes the normed row of each slot times the slot's weight.
void Experts::StoreWeighedInputs(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  const int64_t width = spec_.width;
  slots_.formats = input_.formats;
  slots_.k = width;
  ForRows([&](int64_t row, int32_t thread) {
    const float* x = stream_.Row(row);
    float *normed = scratch(thread).row, *weighed = scratch(thread).other_row;
    if (w.before_feed_forward.present) {
      ApplyNorm(w.before_feed_forward, x, width, normed);
      x = normed;
    }
    for (int64_t slot = row * e.used; slot < (row + 1) * e.used; ++slot) {
      k_.scale(x, weights_of_slots_[slot], width, weighed);
      products_.Store(slots_, places_[slot], weighed);
    }
  });
}

void Experts::Combine(int32_t layer) {
  const model::ExpertSpec& e = spec_.layers[layer].feed_forward.experts;
  const model::Norm& after = weights_.layers[layer].feed_forward.after_experts;
  const int64_t width = spec_.width;
  ForRows([&](int64_t row, int32_t) {
    float* sum = stream_.BranchRow(row);
    for (int64_t j = 0; j < e.used; ++j) {
      const float* out = out_ + places_[row * e.used + j] * width;
      const float weight = e.weigh_input ? 1.0f : weights_of_slots_[row * e.used + j];
      if (j == 0) {
        k_.scale(out, weight, width, sum);
      } else {
        k_.add_scaled(out, weight, width, sum);
      }
    }
    if (after.present) ApplyNorm(after, sum, width, sum);
  });
}

void Experts::AddShared(int32_t layer) {
  const model::FeedForwardWeights& w = weights_.layers[layer].feed_forward;
  const model::FeedForwardSpec& f = spec_.layers[layer].feed_forward;
  const int64_t width = spec_.width, inner = f.experts.shared_width;
  RunGatedPair(processor_, f,
               {.gate = &w.shared_gate,
                .up = &w.shared_up,
                .input = &input_,
                .input_rows = nullptr,
                .tokens = rows(),
                .out = inner_rows_,
                .stride = inner,
                .limit = f.limit});
  shared_inner_.formats = Formats::Of({&w.shared_down});
  shared_inner_.k = inner;
  ForRows([&](int64_t row, int32_t) { products_.Store(shared_inner_, row, inner_rows_ + row * inner); });
  float *shared = out_, *gates = router_logits_.data();  // both are free by now
  const Product down{&w.shared_down, shared, width};
  products_.Multiply(shared_inner_, rows(), {&down, 1});
  if (w.shared_router) {
    const Product router{&w.shared_router, gates, 1};
    products_.Multiply(input_, rows(), {&router, 1});
    k_.activate(kernels::Activation::kSigmoid, gates, rows(), gates);
  }
  ForRows([&](int64_t row, int32_t) {
    float* sum = stream_.BranchRow(row);
    if (w.after_shared.present) ApplyNorm(w.after_shared, shared + row * width, width, shared + row * width);
    if (w.shared_router) {
      k_.add_scaled(shared + row * width, gates[row], width, sum);
    } else {
      k_.add(sum, shared + row * width, width, sum);
    }
  });
}

}  // namespace inferd::device
