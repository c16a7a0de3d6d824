// Guesses by a small model of the same tokenizer (Leviathan et al. 2023, "speculative decoding"): its likeliest tokens,
// one pass of it for each.
//
//   ModelDrafter drafter(runner, cache, kernels, {.vocabulary_size = n, .context_tokens = 8192, .pass_tokens = 256});
//
// It computes the tokens that sequences have got in the meantime first, a bounded number in one call: a long prompt is
// without guesses for a few steps.
#pragma once

#include <map>
#include <memory>

#include "engine/cache/kv_cache.h"
#include "engine/generation/drafter.h"
#include "engine/generation/step_runner.h"
#include "kernels/kernels.h"

namespace inferd::engine {

class ModelDrafter : public Drafter {
 public:
  struct Options {
    int32_t vocabulary_size = 0;  // of the draft model
    int64_t context_tokens = 0;
    int64_t pass_tokens = 256;  // that one pass takes
  };

  // All outlive the drafter. The cache holds two sequences for each that gets guesses at once.
  ModelDrafter(StepRunner& runner, cache::KvCache& cache, const kernels::Kernels& kernels, const Options& options)
      : runner_(runner), cache_(cache), kernels_(kernels), options_(options) {}

  std::vector<std::vector<int32_t>> Draft(std::span<const Wanted> wanted) override;
  void Forget(scheduler::SequenceId id) override { sequences_.erase(id); }

 private:
  struct Guessing {
    size_t index;  // in wanted
    int64_t most;
    std::unique_ptr<cache::Sequence> sequence;  // certain tokens and guesses; given up after the call
  };

  cache::Sequence* SequenceOf(const Wanted& wanted);
  std::vector<Guessing> CatchUp(std::span<const Wanted> wanted, std::vector<std::vector<int32_t>>& drafts);
  bool Extend(std::vector<Guessing>& guessing, std::vector<std::vector<int32_t>>& drafts);
  bool Add(std::span<const float> logits, std::vector<int32_t>& draft) const;

  StepRunner& runner_;
  cache::KvCache& cache_;
  const kernels::Kernels& kernels_;
  const Options options_;
  std::map<scheduler::SequenceId, std::unique_ptr<cache::Sequence>> sequences_;  // of tokens that are certain
};

}  // namespace inferd::engine
