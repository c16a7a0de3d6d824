// Which experts a token goes to, and with which weights; over the row kernels of a variant.
//
//   struct Rows { static void Softmax(...), Sigmoid(const float*, int64_t, float*); static int32_t TopK(...); };
//   .route = RouteWith<Rows>,
#pragma once

#include "kernels/kernels.h"

namespace inferd::kernels {

template <class Rows>
class Router {
 public:
  explicit Router(const RouterArguments& arguments) : a_(arguments) {}

  void Run() {
    Score();
    for (int32_t e = 0; e < a_.experts; ++e) {
      selection_[e] = a_.selection_bias == nullptr ? scores_[e] : scores_[e] + a_.selection_bias[e];
    }
    if (a_.groups > 1) KeepBestGroups();
    Rows::TopK(selection_, a_.experts, a_.chosen, best_);
    for (int32_t i = 0; i < a_.chosen; ++i) {
      a_.ids[i] = best_[i].id;
      a_.weights[i] = scores_[best_[i].id];
    }
    if (a_.score == RouterScore::kSoftmaxOfChosen) Rows::Softmax(a_.weights, a_.chosen, a_.weights);
    if (a_.normalize) Normalize();
    for (int32_t i = 0; i < a_.chosen; ++i) a_.weights[i] = a_.weights[i] * a_.scale;
  }

 private:
  static constexpr float kExcluded = -__builtin_inff();
  static constexpr float kSmallestSum = 0x1p-14f;

  void Score() {
    switch (a_.score) {
      case RouterScore::kSoftmax:
        return Rows::Softmax(a_.logits, a_.experts, scores_);
      case RouterScore::kSigmoid:
        return Rows::Sigmoid(a_.logits, a_.experts, scores_);
      case RouterScore::kSoftmaxOfChosen:
        for (int32_t e = 0; e < a_.experts; ++e) scores_[e] = a_.logits[e];
    }
  }

  // Excludes the experts of all groups but those with the largest sum of their two best scores.
  void KeepBestGroups() {
    const int32_t size = a_.experts / a_.groups;
    float sums[kMaximumExperts];
    bool kept[kMaximumExperts] = {};
    for (int32_t g = 0; g < a_.groups; ++g) {
      TopEntry two[2];
      const int32_t count = Rows::TopK(selection_ + g * size, size, 2, two);
      sums[g] = count == 2 ? two[0].logit + two[1].logit : two[0].logit;
    }
    Rows::TopK(sums, a_.groups, a_.groups_used, best_);
    for (int32_t i = 0; i < a_.groups_used; ++i) kept[best_[i].id] = true;
    for (int32_t e = 0; e < size * a_.groups; ++e) {
      if (!kept[e / size]) selection_[e] = kExcluded;
    }
  }

  void Normalize() {
    float sum = 0.0f;
    for (int32_t i = 0; i < a_.chosen; ++i) sum = sum + a_.weights[i];
    sum = sum < kSmallestSum ? kSmallestSum : sum;
    for (int32_t i = 0; i < a_.chosen; ++i) a_.weights[i] = a_.weights[i] / sum;
  }

  const RouterArguments& a_;
  float scores_[kMaximumExperts];
  float selection_[kMaximumExperts];  // what experts are chosen by
  TopEntry best_[kMaximumExperts];
};

template <class Rows>
void RouteWith(const RouterArguments& arguments) {
  Router<Rows>(arguments).Run();
}

}  // namespace inferd::kernels
