// The vocabulary is never copied or sorted: with filters, a draw looks at the few largest logits, and takes more only
// where the filters cannot decide with those. Without, it takes the sums of blocks and walks through one of them.
#include "engine/sampling/sampler.h"

#include <algorithm>

#include "config/base/status.h"
#include "engine/sampling/exp.h"

namespace inferd::sampling {
namespace {

constexpr int64_t kFirstCandidates = 64;
constexpr int64_t kFirstTypical =
    256;  // whose entropy is that of the list itself once it is whole: its steps are fixed
constexpr int64_t kGrowth = 8;
constexpr size_t kWalkBlock = 1024;

bool HasFilter(const SamplingOptions& options) {
  return options.top_k > 0 || options.top_p < 1 || options.min_p > 0 || options.typical_p < 1;
}

std::vector<Candidate> Largest(std::span<const float> logits, int32_t count, const kernels::Kernels& kernels) {
  std::vector<Candidate> entries(std::min<size_t>(static_cast<size_t>(count), logits.size()));
  const int32_t found = kernels.top_k(logits.data(), static_cast<int64_t>(logits.size()),
                                      static_cast<int32_t>(entries.size()), entries.data());
  entries.resize(static_cast<size_t>(found));
  while (!entries.empty() && IsBanned(entries.back().logit)) entries.pop_back();
  return entries;
}

// The entry at which the running sum of probabilities passes u; nullopt with what is left of u if none does.
std::optional<int32_t> Walk(const CandidateList& list, double& u) {
  for (const Candidate& entry : list.entries) {
    u -= list.Probability(entry);
    if (u < 0) return entry.id;
  }
  return std::nullopt;
}

// The same over all tokens, in order of ids.
int32_t WalkAll(std::span<const float> logits, const CandidateList& list, double u) {
  int32_t id = 0;
  for (const float logit : logits) {
    u -= list.Probability({logit, id});
    if (u < 0) return id;
    ++id;
  }
  return id - 1;
}

}  // namespace

Sampler::Sampler(SamplingOptions options, TextRules rules, SamplerStart start,
                 std::span<const int32_t> end_of_generation, const kernels::Kernels& kernels)
    : options_(std::move(options)),
      rules_(std::move(rules)),
      start_(start),
      end_of_generation_(end_of_generation),
      kernels_(kernels),
      recent_(options_.repeat_penalty == 1 ? 0 : options_.repeat_last_n),
      counted_(options_.presence_penalty == 0 && options_.frequency_penalty == 0 ? 0 : options_.count_last_n),
      dry_(options_.dry, rules_.breakers, rules_.texts),
      surprise_bound_(2.0 * options_.mirostat_tau),
      next_surprise_bound_(surprise_bound_) {
  CHECK(!TextRules::NeededBy(options_) || rules_.texts != nullptr);
}

void Sampler::AcceptPrompt(std::span<const int32_t> tokens) {
  for (int32_t token : tokens) recent_.Push(token);
  dry_.PushPrompt(tokens);
}

void Sampler::Accept(int32_t token) {
  recent_.Push(token);
  counted_.Push(token);
  dry_.Push(token);
  if (rules_.bad_words != nullptr) bad_words_state_ = rules_.bad_words->Advance(bad_words_state_, token);
  surprise_bound_ = next_surprise_bound_;
  ++generated_;
}

int32_t Sampler::Sample(std::span<float> logits) {
  ChangeLogits(logits);
  if (options_.greedy()) {
    const int32_t best = kernels_.argmax(logits.data(), static_cast<int64_t>(logits.size()));
    return best >= 0 && logits[best] > kBannedLogit ? best : kNoToken;
  }
  return options_.mirostat ? SampleMirostat(logits) : SampleFromAll(logits);
}

void Sampler::ChangeLogits(std::span<float> logits) const {
  ApplyBias(options_.logit_bias, logits);
  ApplyRepeatPenalty(recent_, options_.repeat_penalty, logits);
  ApplyCountPenalties(counted_, options_.presence_penalty, options_.frequency_penalty, logits);
  dry_.Penalize(logits);
  BanOthers(options_.allowed_tokens, logits);
  if (options_.ignore_eos || generated_ < start_.min_tokens) Ban(end_of_generation_, logits);
  if (generated_ < start_.min_tokens) Ban(start_.stop_tokens, logits);
  if (rules_.bad_words != nullptr) rules_.bad_words->Ban(bad_words_state_, logits);
}

CandidateList Sampler::Head(int64_t count, double log_sum, std::span<const float> logits) const {
  const auto size = static_cast<int64_t>(logits.size());
  CandidateList list{.entries = Largest(logits, static_cast<int32_t>(std::min(count, size)), kernels_),
                     .log_sum = log_sum};
  list.open = count < size && static_cast<int64_t>(list.entries.size()) == count;
  return list;
}

int32_t Sampler::SampleFromAll(std::span<float> logits) const {
  if (options_.top_k > 0) {
    CandidateList list{.entries = Largest(logits, options_.top_k, kernels_)};
    if (list.entries.empty()) return kNoToken;
    Close(list, kernels_);
    return *SampleFromList(std::move(list), logits);
  }
  if (!HasFilter(options_)) return SampleWithoutFilter(logits);
  const double log_sum = kernels_.log_sum_exp(logits.data(), static_cast<int64_t>(logits.size()));
  for (int64_t count = options_.typical_p < 1 ? kFirstTypical : kFirstCandidates;; count *= kGrowth) {
    CandidateList list = Head(count, log_sum, logits);
    if (list.entries.empty()) return kNoToken;
    if (std::optional<int32_t> token = SampleFromList(std::move(list), logits)) return *token;
  }
}

int32_t Sampler::SampleWithoutFilter(std::span<float> logits) const {
  const auto size = static_cast<int64_t>(logits.size());
  if (ExcludesTop()) {
    const double log_sum = kernels_.log_sum_exp(logits.data(), size);
    for (int64_t count = kFirstCandidates;; count *= kGrowth) {
      const CandidateList list = Head(count, log_sum, logits);
      const std::optional<size_t> excluded = TopToExclude(options_.xtc_threshold, list);
      if (!excluded) continue;
      for (size_t i = 0; i < *excluded; ++i) logits[list.entries[i].id] = kBannedLogit;
      break;
    }
  }
  if (options_.temperature != 1) kernels_.scale(logits.data(), 1 / options_.temperature, size, logits.data());
  return DrawFromAll(logits);
}

std::optional<int32_t> Sampler::SampleFromList(CandidateList list, std::span<const float> logits) const {
  if (options_.typical_p < 1) {
    const double entropy = list.open ? Entropy(logits, list.log_sum) : Entropy(list);
    if (!KeepTypical(options_.typical_p, entropy, list, kernels_)) return std::nullopt;
  }
  if (!KeepTopP(options_.top_p, list, kernels_)) return std::nullopt;
  if (!KeepMinP(options_.min_p, list, kernels_)) return std::nullopt;
  if (ExcludesTop()) {
    const size_t excluded = *TopToExclude(options_.xtc_threshold, list);  // a filter has closed the list
    list.entries.erase(list.entries.begin(), list.entries.begin() + static_cast<std::ptrdiff_t>(excluded));
    Close(list, kernels_);
  }
  ApplyTemperature(options_.temperature, list, kernels_);
  double u = Uniform();
  return Walk(list, u).value_or(list.entries.back().id);
}

bool Sampler::ExcludesTop() const {
  return options_.xtc_probability > 0 && options_.xtc_threshold <= 0.5f &&
         Uniform(RandomStream::kExcludeTop) < options_.xtc_probability;
}

// Empty if all tokens are banned. Where all tokens count, as after some tokens of a predictable text, no list is made:
// it is empty and open.
CandidateList Sampler::MirostatList(std::span<float> logits) const {
  const auto size = static_cast<int64_t>(logits.size());
  if (options_.temperature != 1) kernels_.scale(logits.data(), 1 / options_.temperature, size, logits.data());
  CandidateList list{.log_sum = kernels_.log_sum_exp(logits.data(), size)};
  const float least = LeastLogit(list.log_sum, surprise_bound_);
  list.open = AllReach(least, logits);
  if (list.open) return list;
  list.entries = Reaching(least, logits);
  if (list.entries.empty()) list.entries = Largest(logits, 1, kernels_);
  if (!list.entries.empty()) Close(list, kernels_);
  return list;
}

int32_t Sampler::SampleMirostat(std::span<float> logits) {
  const CandidateList list = MirostatList(logits);
  if (list.entries.empty() && !list.open) return kNoToken;
  double u = Uniform();
  const int32_t token = list.open ? WalkAll(logits, list, u) : Walk(list, u).value_or(list.entries.back().id);
  LearnSurprise(list, logits, token);
  return token;
}

void Sampler::Recall(std::span<float> logits, int32_t token) {
  ChangeLogits(logits);
  const CandidateList list = MirostatList(logits);
  if (list.open || !list.entries.empty()) LearnSurprise(list, logits, token);
}

void Sampler::LearnSurprise(const CandidateList& list, std::span<const float> logits, int32_t token) {
  Candidate taken{logits[static_cast<size_t>(token)], token};
  if (!list.open) {
    taken = *std::find_if(list.entries.begin(), list.entries.end() - 1,
                          [&](const Candidate& candidate) { return candidate.id == token; });
  }
  const double error = SurpriseBits(list, taken) - options_.mirostat_tau;
  next_surprise_bound_ = surprise_bound_ - options_.mirostat_eta * error;
}

// In order of ids: the block in which the random number falls, then the token in it. Rounding can leave a remainder at
// the end: it belongs to the likeliest token.
int32_t Sampler::DrawFromAll(std::span<const float> logits) const {
  std::vector<double> masses;
  for (size_t begin = 0; begin < logits.size(); begin += kWalkBlock) {
    const size_t size = std::min(kWalkBlock, logits.size() - begin);
    masses.push_back(kernels_.log_sum_exp(logits.data() + begin, static_cast<int64_t>(size)));
  }
  const double largest = *std::max_element(masses.begin(), masses.end());
  if (IsBanned(static_cast<float>(largest))) return kNoToken;
  double sum = 0;
  for (double& mass : masses) sum += mass = Exp(mass - largest);
  double u = Uniform() * sum;
  for (size_t block = 0; block < masses.size(); ++block) {
    if (u >= masses[block]) {
      u -= masses[block];
      continue;
    }
    const size_t end = std::min((block + 1) * kWalkBlock, logits.size());
    for (size_t id = block * kWalkBlock; id < end; ++id) {
      u -= Exp(logits[id] - largest);
      if (u < 0) return static_cast<int32_t>(id);
    }
  }
  return kernels_.argmax(logits.data(), static_cast<int64_t>(logits.size()));
}

double Sampler::Uniform(RandomStream stream) const {
  return UniformAt({.seed = start_.seed, .position = generated_, .choice = start_.choice, .stream = stream});
}

}  // namespace inferd::sampling
