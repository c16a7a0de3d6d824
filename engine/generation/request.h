// One request to generate, in the engine's terms: token ids in, events out (event.h).
//
//   GenerationRequest request{.prompt = ids, .sampling = {.temperature = 0}, .max_tokens = 64};
//   RETURN_IF_ERROR(Validate(request, limits));
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/base/clock.h"
#include "engine/constraint/matcher.h"
#include "engine/output/output_parser.h"
#include "engine/sampling/sampling_options.h"
#include "engine/sampling/text_rules.h"
#include "engine/scheduler/sequence.h"

namespace inferd::engine {

// What a choice had when the process that made it died: it goes on after these tokens and bytes.
struct ResumedChoice {
  uint32_t choice = 0;
  std::vector<int32_t> tokens;
  uint64_t delivered_bytes = 0;
  bool finished = false;  // nothing more is made of it
};

// At the end of the context an answer stops, or goes on without the older half of what is between the first `keep`
// tokens and the end; what stays is computed again. Slides only with max_tokens: an answer without it ends there.
struct Overflow {
  bool slide = false;
  int64_t keep = 4;  // Xiao et al. 2024: a model leans on its first tokens
};

struct GenerationRequest {
  std::vector<int32_t> prompt;
  sampling::SamplingOptions sampling;
  std::optional<constraint::Constraint> constraint;  // what the output must be; from Engine::Constrain
  sampling::TextRules text_rules;  // of `sampling`, where that needs them; made when the request is admitted
  uint64_t seed = 0;
  uint32_t choices = 1;
  std::optional<uint32_t> max_tokens;  // of each choice; none: to the end of the context
  uint32_t min_tokens = 0;
  Overflow overflow;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_tokens;  // ascending; they end a choice as an end-of-generation token does
  bool include_stop = false;         // the stop text or token is part of the output
  std::optional<int32_t> logprobs;   // alternatives of each generated token, 0..20; none: no log-probabilities
  bool prompt_logprobs = false;
  scheduler::Priority priority = scheduler::Priority::kNormal;
  std::optional<MonotonicTime> deadline;
  uint64_t cache_salt = 0;
  std::vector<ResumedChoice> resumed;
  // The parser of a choice, and the control tokens (ascending) that it gets as text; others give none.
  std::function<std::unique_ptr<output::OutputParser>(uint32_t choice)> make_parser = [](uint32_t) {
    return output::MakeContentParser();
  };
  std::vector<int32_t> spelled_tokens;
};

// What the model and its memory allow.
struct RequestLimits {
  int32_t vocabulary_size = 0;
  std::vector<int32_t> end_of_generation = {};  // ascending
  int64_t context_tokens = 0;                   // prompt and output of one sequence
  int64_t pool_tokens = 0;                      // that the KV cache holds at most for one sequence
};

constexpr uint32_t kMostChoices = 128;
constexpr int32_t kMostAlternatives = 20;

// OUT_OF_RANGE: the prompt is longer than the context or than the KV cache, with both numbers. INVALID_ARGUMENT: any
// other field, with its value and what was expected.
absl::Status Validate(const GenerationRequest& request, const RequestLimits& limits);

// The part of it that a configuration may set for all requests.
absl::Status Validate(const Overflow& overflow, const RequestLimits& limits);

// INVALID_ARGUMENT names the option that bans every token from the beginning on. The request is valid and has its text
// rules.
absl::Status CheckBans(const GenerationRequest& request, const RequestLimits& limits);

// Tokens that a sequence has at most at one time.
inline int64_t WindowTokens(const RequestLimits& limits) { return std::min(limits.context_tokens, limits.pool_tokens); }

// Which of the two that is, with its name: "this model's maximum context length is 50 tokens".
std::string WindowText(const RequestLimits& limits);

// Tokens that each choice can generate.
int64_t MostTokens(const GenerationRequest& request, const RequestLimits& limits);

}  // namespace inferd::engine
