// Chooses the tokens of one sequence.
//
//   Sampler sampler(options, {.seed = 7, .choice = 0}, end_of_generation_tokens, kernels);
//   sampler.AcceptPrompt(prompt_tokens);
//   int32_t token = sampler.Sample(logits);      // changes logits; kNoToken: every token is banned
//   sampler.Accept(token);
//
// The choice is a function of the options, the seed, the tokens accepted so far and the logits alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/sampling/filters.h"
#include "engine/sampling/penalties.h"
#include "engine/sampling/sampling_options.h"
#include "kernels/kernels.h"

namespace inferd::sampling {

constexpr int32_t kNoToken = -1;

struct SamplerStart {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint32_t min_tokens = 0;  // end-of-generation tokens are banned before this many
};

class Sampler {
 public:
  // `options` must be valid. `end_of_generation` and `kernels` must outlive the sampler.
  Sampler(SamplingOptions options, SamplerStart start, std::span<const int32_t> end_of_generation,
          const kernels::Kernels& kernels);

  void AcceptPrompt(std::span<const int32_t> tokens);
  void Accept(int32_t token);

  // logits [vocabulary_size] f32, finite or kBannedLogit (a constraint's mask); used as scratch.
  int32_t Sample(std::span<float> logits);

  uint64_t generated() const { return generated_; }

 private:
  void ChangeLogits(std::span<float> logits) const;
  int32_t SampleFromAll(std::span<float> logits) const;
  // nullopt: the filters need more candidates than list holds.
  std::optional<int32_t> SampleFromList(CandidateList list, std::span<const float> logits) const;
  int32_t DrawBeyond(double remainder, const CandidateList& list, std::span<float> logits) const;
  double Uniform() const;

  SamplingOptions options_;
  SamplerStart start_;
  std::span<const int32_t> end_of_generation_;
  const kernels::Kernels& kernels_;
  TokenWindow recent_;   // prompt and output, for repeat_penalty
  TokenWindow counted_;  // output, for presence and frequency
  uint64_t generated_ = 0;
};

}  // namespace inferd::sampling
