// Chooses the tokens of one sequence.
//
//   Sampler sampler(options, text_rules, {.seed = 7, .choice = 0}, end_of_generation_tokens, kernels);
//   sampler.AcceptPrompt(prompt_tokens);
//   int32_t token = sampler.Sample(logits);      // changes logits; kNoToken: every token is banned
//   sampler.Accept(token);
//
// The choice is a function of the options, the seed, the tokens accepted so far and the logits alone; with mirostat, of
// the earlier logits too: where tokens are taken over from elsewhere, they go through Recall with their logits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/sampling/dry.h"
#include "engine/sampling/filters.h"
#include "engine/sampling/penalties.h"
#include "engine/sampling/philox.h"
#include "engine/sampling/sampling_options.h"
#include "engine/sampling/text_rules.h"
#include "kernels/kernels.h"

namespace inferd::sampling {

constexpr int32_t kNoToken = -1;

struct SamplerStart {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint32_t min_tokens = 0;  // tokens that end a choice are banned before this many
  std::span<const int32_t> stop_tokens =
      {};  // that end it besides those of end_of_generation; they outlive the sampler
};

class Sampler {
 public:
  // `options` must be valid, and `rules` made of them. `end_of_generation` and `kernels` must outlive the sampler.
  Sampler(SamplingOptions options, TextRules rules, SamplerStart start, std::span<const int32_t> end_of_generation,
          const kernels::Kernels& kernels);

  // Before any other token; they outlive the sampler.
  void AcceptPrompt(std::span<const int32_t> tokens);
  void Accept(int32_t token);

  // logits [vocabulary_size] f32, finite or kBannedLogit (a constraint's mask); used as scratch.
  int32_t Sample(std::span<float> logits);

  // Instead of Sample where the token is known already. Only if needs_recall().
  void Recall(std::span<float> logits, int32_t token);
  // The state depends on the logits, so that tokens alone do not bring it back.
  bool needs_recall() const { return options_.mirostat && !options_.greedy(); }

  double surprise_bound() const { return surprise_bound_; }  // mirostat's mu, in bits
  uint64_t generated() const { return generated_; }

 private:
  void ChangeLogits(std::span<float> logits) const;
  int32_t SampleFromAll(std::span<float> logits) const;
  int32_t SampleWithoutFilter(std::span<float> logits) const;
  CandidateList Head(int64_t count, double log_sum, std::span<const float> logits) const;
  CandidateList MirostatList(std::span<float> logits) const;
  int32_t SampleMirostat(std::span<float> logits);
  void LearnSurprise(const CandidateList& list, std::span<const float> logits, int32_t token);
  bool ExcludesTop() const;
  // nullopt: the filters need more candidates than list holds.
  std::optional<int32_t> SampleFromList(CandidateList list, std::span<const float> logits) const;
  int32_t DrawFromAll(std::span<const float> logits) const;
  double Uniform(RandomStream stream = RandomStream::kToken) const;

  SamplingOptions options_;
  TextRules rules_;
  SamplerStart start_;
  std::span<const int32_t> end_of_generation_;
  const kernels::Kernels& kernels_;
  TokenWindow recent_;   // prompt and output, for repeat_penalty
  TokenWindow counted_;  // output, for presence and frequency
  DryHistory dry_;
  int32_t bad_words_state_ = 0;
  double surprise_bound_ = 0;
  double next_surprise_bound_ = 0;  // once the token is accepted
  uint64_t generated_ = 0;
};

}  // namespace inferd::sampling
