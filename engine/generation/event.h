// What comes back of a request: accepted, then deltas of its choices, then one finished for each choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "engine/output/output_parser.h"
#include "engine/sampling/logprobs.h"

namespace inferd::engine {

struct Accepted {
  uint32_t prompt_tokens = 0;
  uint64_t seed = 0;
};

struct Delta {
  uint32_t choice = 0;
  // Tokens that this delta accounts for; `parts` may lag behind them (an unfinished character, a possible stop text).
  std::vector<int32_t> tokens;
  std::vector<output::OutputPart> parts;
  std::vector<sampling::TokenLogprob> logprobs;  // of `tokens`
  // The report on the prompt, sent once in a delta of its own: its first token, which nothing predicts, and the
  // log-probabilities of those after it.
  std::optional<int32_t> first_prompt_token;
  std::vector<sampling::TokenLogprob> prompt_logprobs;
};

enum class FinishReason : uint8_t { kStop, kLength, kToolCalls, kError };

constexpr const char* NameOf(FinishReason reason) {
  constexpr const char* kNames[] = {"stop", "length", "tool_calls", "error"};
  return kNames[static_cast<size_t>(reason)];
}

struct Usage {
  uint32_t prompt_tokens = 0, completion_tokens = 0, cached_prompt_tokens = 0;
  uint32_t dropped_tokens = 0;  // by sliding at the context's end
};

struct Timings {
  double queue_seconds = 0, prefill_seconds = 0, decode_seconds = 0;
  double first_token_seconds = 0;  // from arrival
};

struct Finished {
  uint32_t choice = 0;
  FinishReason reason = FinishReason::kStop;
  std::string stop_text;
  Usage usage;
  Timings timings;
  // Of kError. INVALID_ARGUMENT: the request's fault.
  absl::Status error;
};

using Event = std::variant<Accepted, Delta, Finished>;

}  // namespace inferd::engine
