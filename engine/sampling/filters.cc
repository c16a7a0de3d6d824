// See the header: each filter is one pass over the candidates.
#include "engine/sampling/filters.h"

#include <algorithm>
#include <cmath>

#include "engine/sampling/exp.h"
#include "engine/sampling/sampling_options.h"

namespace inferd::sampling {
namespace {

constexpr size_t kBlock = 64;  // logits that are looked at together

bool Before(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// Keeps the first `count` entries; they are all that counts from here on.
void Truncate(size_t count, CandidateList& list, const kernels::Kernels& kernels) {
  if (count == list.entries.size() && !list.open) return;
  list.entries.resize(count);
  Close(list, kernels);
}

}  // namespace

double CandidateList::Probability(const Candidate& candidate) const {
  return Exp(static_cast<double>(candidate.logit) - log_sum);
}

double LogSum(std::span<const Candidate> entries, const kernels::Kernels& kernels) {
  std::vector<float> logits(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) logits[i] = entries[i].logit;
  return kernels.log_sum_exp(logits.data(), static_cast<int64_t>(logits.size()));
}

void Close(CandidateList& list, const kernels::Kernels& kernels) {
  list.log_sum = LogSum(list.entries, kernels);
  list.open = false;
}

bool KeepTopP(float p, CandidateList& list, const kernels::Kernels& kernels) {
  if (p >= 1) return true;
  double sum = 0;
  for (size_t i = 0; i < list.entries.size(); ++i) {
    sum += list.Probability(list.entries[i]);
    if (sum >= p) {
      Truncate(i + 1, list, kernels);
      return true;
    }
  }
  return !list.open;  // rounding may leave the sum of all just below p: then all stay
}

bool KeepMinP(float min_p, CandidateList& list, const kernels::Kernels& kernels) {
  if (min_p <= 0) return true;
  const double best = list.entries.front().logit;
  const auto end = std::find_if(list.entries.begin(), list.entries.end(),
                                [&](const Candidate& entry) { return Exp(entry.logit - best) < min_p; });
  if (end == list.entries.end() && list.open) return false;
  Truncate(static_cast<size_t>(end - list.entries.begin()), list, kernels);
  return true;
}

bool KeepTypical(float p, double entropy, CandidateList& list, const kernels::Kernels& kernels) {
  if (p >= 1) return true;
  const auto deviation = [&](const Candidate& entry) { return std::abs(list.log_sum - entry.logit - entropy); };
  // A token beyond the list is at least as surprising as the last entry: only deviations below that one are decided.
  const double last_surprise = list.log_sum - list.entries.back().logit;
  const double undecided = list.open ? std::max(0.0, last_surprise - entropy) : HUGE_VAL;
  std::vector<Candidate> sorted = list.entries;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Candidate& a, const Candidate& b) { return deviation(a) < deviation(b); });
  double sum = 0;
  size_t count = 0;
  while (count < sorted.size() && sum < p) {
    if (deviation(sorted[count]) >= undecided) return false;
    sum += list.Probability(sorted[count++]);
  }
  if (sum < p && list.open) return false;
  sorted.resize(count);
  std::sort(sorted.begin(), sorted.end(), Before);
  list.entries = std::move(sorted);
  Close(list, kernels);
  return true;
}

std::optional<size_t> TopToExclude(float threshold, const CandidateList& list) {
  size_t reach = 0;
  while (reach < list.entries.size() && list.Probability(list.entries[reach]) >= threshold) ++reach;
  if (reach == list.entries.size() && list.open) return std::nullopt;
  return reach == 0 ? 0 : reach - 1;
}

float LeastLogit(double log_sum, double bits) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  return static_cast<float>(std::max(log_sum - bits * kLn2, double{kBannedLogit} / 4));
}

bool AllReach(float least, std::span<const float> logits) {
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, logits.size() - begin);
    int below = 0;
    for (size_t i = begin; i < begin + size; ++i) below |= logits[i] < least ? 1 : 0;
    if (below != 0) return false;
  }
  return true;
}

std::vector<Candidate> Reaching(float least, std::span<const float> logits) {
  std::vector<Candidate> entries;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, logits.size() - begin);
    int found = 0;
    for (size_t i = begin; i < begin + size; ++i) found |= logits[i] >= least ? 1 : 0;
    if (found == 0) continue;  // as in most blocks
    size_t count = entries.size();
    entries.resize(count + size);  // without a branch that cannot be foreseen
    for (size_t i = begin; i < begin + size; ++i) {
      entries[count] = {logits[i], static_cast<int32_t>(i)};
      count += logits[i] >= least ? 1 : 0;
    }
    entries.resize(count);
  }
  return entries;
}

double SurpriseBits(const CandidateList& list, const Candidate& candidate) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  return (list.log_sum - static_cast<double>(candidate.logit)) * kLog2E;
}

double Entropy(const CandidateList& list) {
  double entropy = 0;
  for (const Candidate& entry : list.entries) entropy += list.Probability(entry) * (list.log_sum - entry.logit);
  return entropy;
}

double Entropy(std::span<const float> logits, double log_sum) {
  double entropy = 0;
  for (float logit : logits) {
    if (logit > kBannedLogit) entropy += Exp(logit - log_sum) * (log_sum - logit);
  }
  return entropy;
}

void ApplyTemperature(float temperature, CandidateList& list, const kernels::Kernels& kernels) {
  if (temperature == 1) return;
  for (Candidate& entry : list.entries) entry.logit /= temperature;
  Close(list, kernels);
}

}  // namespace inferd::sampling
