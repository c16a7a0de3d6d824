// The guesses of one step: which sequences get some, what they are, how good they were.
//
//   speculation.Propose(candidates);
//   for (int32_t token : speculation.Drafts(id)) ...
//   speculation.Judge(id, /*proposed=*/8, /*accepted=*/5, /*goes_on=*/true);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/generation/drafter.h"
#include "engine/generation/guessing_gain.h"

namespace inferd::engine {

struct SpeculationLimits {
  int64_t max_tokens = 8;  // guesses for one sequence
  int64_t max_batch = 4;   // beside more sequences that decode nobody gets any; beside fewer, where it pays
};

class Speculation {
 public:
  struct Candidate {
    scheduler::SequenceId id;
    TokenView tokens;                // prompt and output
    std::span<const int32_t> known;  // that come next for certain
    int64_t most;                    // that may come after the next one
  };

  // Without a drafter, only what is known is proposed.
  Speculation(const SpeculationLimits& limits, int32_t vocabulary_size, std::unique_ptr<Drafter> drafter)
      : limits_(limits), vocabulary_size_(vocabulary_size), drafter_(std::move(drafter)) {}

  // `candidates`: all sequences that decode. Guesses of the step before are forgotten.
  void Propose(std::span<const Candidate> candidates);
  // Only the first guesses of a sequence are possible.
  void Keep(scheduler::SequenceId id, size_t count);
  // Valid until the next Propose.
  std::span<const int32_t> Drafts(scheduler::SequenceId id) const;
  // The last token and the first `drafts` guesses after it; valid until the next Propose.
  std::span<const int32_t> WithDrafts(scheduler::SequenceId id, int32_t last, int64_t drafts);
  // `goes_on`: the sequence has not ended with them.
  void Judge(scheduler::SequenceId id, size_t proposed, size_t accepted, bool goes_on);
  // The step of all `sequences` that decode has taken so long, from Propose on, with nothing else in it.
  void StepDone(int64_t sequences, double seconds);
  void Forget(scheduler::SequenceId id);

  // Totals; what is known for certain is no guess.
  uint64_t proposed() const { return proposed_; }
  uint64_t accepted() const { return accepted_; }

 private:
  struct Guess {
    std::vector<int32_t> tokens;  // [0]: the last token that is known, set by WithDrafts
    bool certain;
  };

  const SpeculationLimits limits_;
  const int32_t vocabulary_size_;
  const std::unique_ptr<Drafter> drafter_;
  std::map<scheduler::SequenceId, Guess> guesses_;
  // Guesses that are worth making for a sequence, where that is known: it grows while all are right; after a wrong one,
  // it is as many as were right and one more.
  std::map<scheduler::SequenceId, int64_t> worth_;
  GuessingGain gain_;
  bool step_has_certain_ = false;  // what is known for certain tells nothing of guesses
  uint64_t step_begin_proposed_ = 0, step_begin_accepted_ = 0, step_begin_passes_ = 0;
  uint64_t proposed_ = 0, accepted_ = 0;
};

}  // namespace inferd::engine
