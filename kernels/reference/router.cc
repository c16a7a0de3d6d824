// Which experts a token goes to, and with which weights. Hundreds of values a token: all variants use this one.
#include <cmath>
#include <limits>

#include "kernels/lanes/elementary.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace inferd::kernels::reference {
namespace {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();
constexpr float kSmallestSum = 0x1p-14f;

// The index of the largest of values[0..n-1] that is not taken, smallest index among equals, NaN last.
int32_t Best(const float* values, const bool* taken, int32_t n) {
  int32_t best = -1;
  for (int32_t i = 0; i < n; ++i) {
    if (taken[i]) continue;
    if (best < 0 || values[i] > values[best] || (std::isnan(values[best]) && !std::isnan(values[i]))) best = i;
  }
  return best;
}

// Excludes the experts of all groups but those with the largest sum of their two best scores.
void KeepBestGroups(const RouterArguments& a, float* scores) {
  const int32_t size = a.experts / a.groups;
  float sums[kMaximumExperts];
  for (int32_t g = 0; g < a.groups; ++g) {
    bool taken[kMaximumExperts] = {};
    float sum = 0.0f;
    for (int i = 0; i < 2 && i < size; ++i) {
      const int32_t best = Best(scores + g * size, taken, size);
      taken[best] = true;
      sum = sum + scores[g * size + best];
    }
    sums[g] = sum;
  }
  bool kept[kMaximumExperts] = {};
  for (int32_t i = 0; i < a.groups_used; ++i) kept[Best(sums, kept, a.groups)] = true;
  for (int32_t e = 0; e < size * a.groups; ++e) {
    if (!kept[e / size]) scores[e] = kExcluded;
  }
}

void Normalize(const RouterArguments& a) {
  float sum = 0.0f;
  for (int32_t i = 0; i < a.chosen; ++i) sum = sum + a.weights[i];
  sum = sum < kSmallestSum ? kSmallestSum : sum;
  for (int32_t i = 0; i < a.chosen; ++i) a.weights[i] = a.weights[i] / sum;
}

}  // namespace

void Route(const RouterArguments& a) {
  float scores[kMaximumExperts];
  float selection[kMaximumExperts];
  switch (a.score) {
    case RouterScore::kSoftmax:
      Softmax(a.logits, a.experts, scores);
      break;
    case RouterScore::kSigmoid:
      ActivateRow(Activation::kSigmoid, a.logits, a.experts, scores);
      break;
    case RouterScore::kSoftmaxOfChosen:
      Scale(a.logits, 1.0f, a.experts, scores);
      break;
  }
  for (int32_t e = 0; e < a.experts; ++e) {
    selection[e] = a.selection_bias == nullptr ? scores[e] : scores[e] + a.selection_bias[e];
  }
  if (a.groups > 1) KeepBestGroups(a, selection);
  bool taken[kMaximumExperts] = {};
  for (int32_t i = 0; i < a.chosen; ++i) {
    a.ids[i] = Best(selection, taken, a.experts);
    taken[a.ids[i]] = true;
    a.weights[i] = scores[a.ids[i]];
  }
  if (a.score == RouterScore::kSoftmaxOfChosen) Softmax(a.weights, a.chosen, a.weights);
  if (a.normalize) Normalize(a);
  Scale(a.weights, a.scale, a.chosen, a.weights);
}

}  // namespace inferd::kernels::reference
