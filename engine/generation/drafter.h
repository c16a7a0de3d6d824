// Guesses how sequences go on; the model checks several guesses in one pass. A wrong guess costs time, never the
// answer.
//
//   std::vector<std::vector<int32_t>> drafts = drafter.Draft({{.id = 1, .tokens = choice.tokens().view(), .most = 8}});
//   drafter.Forget(1);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/generation/token_text.h"
#include "engine/scheduler/sequence.h"

namespace inferd::engine {

class Drafter {
 public:
  struct Wanted {
    scheduler::SequenceId id;
    TokenView tokens;  // prompt and output
    int64_t most;      // guesses at most, >= 1
  };

  virtual ~Drafter() = default;
  // For each wanted sequence the guesses for its next tokens; none where there is nothing to go by.
  virtual std::vector<std::vector<int32_t>> Draft(std::span<const Wanted> wanted) = 0;
  // The sequence has ended, or its tokens have changed.
  virtual void Forget(scheduler::SequenceId id) = 0;
  // Of a model, that it has run so far: their time is a price of guesses, also where none came.
  virtual uint64_t passes() const { return 0; }
};

}  // namespace inferd::engine
