// logprob = logit - log(sum of e^logit).
#include "engine/sampling/logprobs.h"

namespace inferd::sampling {

TokenLogprob LogprobOf(std::span<const float> logits, int32_t token, int32_t top, const kernels::Kernels& kernels) {
  const int64_t size = static_cast<int64_t>(logits.size());
  const float log_sum = kernels.log_sum_exp(logits.data(), size);
  TokenLogprob result{.token = token, .logprob = logits[token] - log_sum};
  if (top == 0) return result;
  std::vector<kernels::TopEntry> best(static_cast<size_t>(top));
  best.resize(static_cast<size_t>(kernels.top_k(logits.data(), size, top, best.data())));
  for (const kernels::TopEntry& entry : best) result.top.push_back({entry.id, entry.logit - log_sum});
  return result;
}

}  // namespace inferd::sampling
