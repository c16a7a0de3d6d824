// Guesses by a small model of the same tokenizer (Leviathan et al. 2023, "speculative decoding"): its likeliest tokens,
// one pass of it for each.
//
//   ModelDrafter drafter(runner, cache, kernels, {.vocabulary_size = n, .context_tokens = 8192, .pass_tokens = 256});
//
// It computes the tokens that sequences have got in the meantime first, a bounded number in one call: a long prompt is
// without guesses for a few steps. A text begins only where the cache has room for all of it, which those that were not
// asked for lately make; one that the whole cache or the draft model's context cannot hold is given up.
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

  // A sequence that this many calls did not ask for makes room for others. Not at once: a step in which its next token
  // is known for certain does not ask for it either.
  static constexpr int64_t kIdleCalls = 16;

  // All outlive the drafter. The cache holds two sequences for each that gets guesses at once.
  ModelDrafter(StepRunner& runner, cache::KvCache& cache, const kernels::Kernels& kernels, const Options& options)
      : runner_(runner), cache_(cache), kernels_(kernels), options_(options) {}

  std::vector<std::vector<int32_t>> Draft(std::span<const Wanted> wanted) override;
  void Forget(scheduler::SequenceId id) override { sequences_.erase(id); }
  uint64_t passes() const override { return passes_; }

 private:
  struct Text {
    std::unique_ptr<cache::Sequence> sequence;  // of tokens that are certain; nullptr: nothing is computed
    int64_t last_call = 0;                      // that asked for it
    bool given_up = false;                      // until it is forgotten
  };
  struct Guessing {
    size_t index;  // in wanted
    int64_t most;
    std::unique_ptr<cache::Sequence> sequence;  // certain tokens and guesses; given up after the call
  };

  bool CanHold(const Wanted& wanted, int64_t computed) const;
  cache::Sequence* SequenceOf(const Wanted& wanted);
  bool DropIdle();
  template <typename Attempt>
  auto WithRoom(Attempt attempt);
  absl::StatusOr<forward::ForwardResult> Run(std::span<const forward::SequenceStep> steps);
  std::vector<Guessing> CatchUp(std::span<const Wanted> wanted, std::vector<std::vector<int32_t>>& drafts);
  bool Extend(std::vector<Guessing>& guessing, std::vector<std::vector<int32_t>>& drafts);
  bool Add(std::span<const float> logits, std::vector<int32_t>& draft) const;

  StepRunner& runner_;
  cache::KvCache& cache_;
  const kernels::Kernels& kernels_;
  const Options options_;
  std::map<scheduler::SequenceId, Text> sequences_;
  int64_t calls_ = 0;
  uint64_t passes_ = 0;
};

}  // namespace inferd::engine
