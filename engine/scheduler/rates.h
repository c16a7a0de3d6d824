// How fast this engine is, measured from its own steps: the base of expected waits and of the prompt work that a step
// can take beside running streams.
//
//   Rates rates = Rates::OfPasses({.tokens = 8, .pass_seconds = 0.06, .step_seconds = 0.03});     // at the start
//   rates.StepDone({.decode_sequences = 8, .prefill_tokens = 256}, step_seconds);
//   double wait = tokens_ahead * rates.prefill_seconds_per_token();
#pragma once

#include <cstdint>

namespace inferd::scheduler {

struct StepShape {
  int64_t decode_sequences = 0;
  int64_t prefill_tokens = 0;
  int64_t draft_tokens = 0;  // guesses that were checked beside the sequences' own tokens
};

// Two passes on an idle engine: one over several tokens of a text, one over a single token.
struct PassTimes {
  int64_t tokens = 0;
  double pass_seconds = 0, step_seconds = 0;
};

class Rates {
 public:
  Rates() = default;  // nothing is known
  // What a first measurement tells, until there are steps. The passes may have read the model's file for the first
  // time, so a token of a prompt counts as no more than a step of its own.
  static Rates OfPasses(const PassTimes& times);

  void StepDone(const StepShape& shape, double seconds);
  void SequenceDone(int64_t generated_tokens);

  // The streams of a step have got so many tokens: guesses give some more than one.
  void StreamsAdvanced(int64_t streams, int64_t tokens);

  // Whether prompts and answers of requests were measured. Before, there is a guess, after which nobody is refused: a
  // token of a first short pass takes several times as long as one of a long prompt.
  bool knows_prompts() const { return knows_prompts_; }
  bool knows_answers() const { return generated_tokens_.samples > 1; }

  // 0 until known.
  // Of a step of so many streams without prompts. A stream more or less than in the steps measured is a token of a
  // prompt more or less: while prompts keep coming, no step is without any.
  double decode_step_seconds(int64_t streams) const;
  double prefill_seconds_per_token() const;                            // beyond what the streams of the step take
  double stream_seconds_per_token() const;                             // of one stream, prompts beside it
  double generated_tokens() const { return generated_tokens_.value; }  // of a sequence

 private:
  // Of the last samples, about twenty; a first guess counts as one.
  struct Average {
    double value = 0;
    double samples = 0;
    void Add(double sample);
  };

  Average decode_step_, stream_step_;
  Average decode_rows_;  // of the steps of decode_step_: streams and guesses
  Average stream_tokens_{.value = 1, .samples = 1};
  Average generated_tokens_{.value = 128, .samples = 1};
  // Sums in which older steps count less and less: what prompts cost beside streams, all of their steps, and tokens.
  double prefill_seconds_ = 0, prefill_step_seconds_ = 0, prefill_tokens_ = 0;
  bool knows_prompts_ = false;
};

}  // namespace inferd::scheduler
