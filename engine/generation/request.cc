// The checks of a request, one function a group of fields.
#include "engine/generation/request.h"

#include <algorithm>
#include <set>

#include "config/base/status.h"
#include "engine/output/stop_matcher.h"

namespace inferd::engine {
namespace {

absl::Status ValidateTokens(const std::vector<int32_t>& tokens, const char* field, int32_t vocabulary_size) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary_size) continue;
    return InvalidField(field, "id {} at index {} is not in the vocabulary of {} tokens", tokens[i], i,
                        vocabulary_size);
  }
  return absl::OkStatus();
}

std::string ContextText(const RequestLimits& limits) {
  return fmt::format("this model's maximum context length is {} tokens", limits.context_tokens);
}

std::string PoolText(const RequestLimits& limits) {
  return fmt::format("the KV cache holds {} tokens", limits.pool_tokens);
}

absl::Status ValidateLength(const GenerationRequest& request, const RequestLimits& limits) {
  const int64_t prompt = static_cast<int64_t>(request.prompt.size());
  const bool generates = request.max_tokens.value_or(1) > 0;
  if (prompt == 0) return InvalidField("prompt", "it has no tokens, expected at least 1");
  if (prompt + (generates ? 1 : 0) > limits.context_tokens) {
    return AtField("prompt", OutOfRange("{}, but the prompt has {} tokens", ContextText(limits), prompt));
  }
  const int64_t output = request.overflow.slide ? (generates ? 1 : 0) : request.max_tokens.value_or(1);
  const int64_t wanted = prompt + std::min<int64_t>(output, limits.context_tokens - prompt);
  if (wanted > limits.pool_tokens) {
    return AtField("prompt",
                   OutOfRange("{}, but prompt and max_tokens together have {} tokens", PoolText(limits), wanted));
  }
  return absl::OkStatus();
}

absl::Status ValidateResumed(const GenerationRequest& request, const RequestLimits& limits) {
  std::set<uint32_t> seen;
  for (const ResumedChoice& resumed : request.resumed) {
    if (resumed.choice >= request.choices) {
      return InvalidField("resume_tokens", "choice {} is not below {}", resumed.choice, request.choices);
    }
    if (!seen.insert(resumed.choice).second) {
      return InvalidField("resume_tokens", "choice {} is there twice", resumed.choice);
    }
    RETURN_IF_ERROR(ValidateTokens(resumed.tokens, "resume_tokens", limits.vocabulary_size));
    if (static_cast<int64_t>(resumed.tokens.size()) > MostTokens(request, limits)) {
      return InvalidField("resume_tokens", "choice {} has {} tokens, expected at most {}", resumed.choice,
                          resumed.tokens.size(), MostTokens(request, limits));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const GenerationRequest& request, const RequestLimits& limits) {
  RETURN_IF_ERROR(sampling::Validate(request.sampling, limits.vocabulary_size));
  if (request.choices < 1 || request.choices > kMostChoices) {
    return InvalidField("choices", "{} is not in [1, {}]", request.choices, kMostChoices);
  }
  const int32_t logprobs = request.logprobs.value_or(0);
  if (logprobs < 0 || logprobs > kMostAlternatives) {
    return InvalidField("logprobs", "{} is not in [0, {}]", logprobs, kMostAlternatives);
  }
  if (request.max_tokens && request.min_tokens > *request.max_tokens) {
    return InvalidField("min_tokens", "{} is more than max_tokens {}", request.min_tokens, *request.max_tokens);
  }
  RETURN_IF_ERROR(output::StopTexts::Check(request.stop));
  RETURN_IF_ERROR(ValidateTokens(request.stop_tokens, "stop_token_ids", limits.vocabulary_size));
  RETURN_IF_ERROR(ValidateTokens(request.prompt, "prompt", limits.vocabulary_size));
  RETURN_IF_ERROR(ValidateLength(request, limits));
  RETURN_IF_ERROR(Validate(request.overflow, limits));
  return ValidateResumed(request, limits);
}

absl::Status Validate(const Overflow& overflow, const RequestLimits& limits) {
  const int64_t most = WindowTokens(limits) / 2;
  if (!overflow.slide || (overflow.keep >= 0 && overflow.keep <= most)) return absl::OkStatus();
  return InvalidField("overflow_keep", "{} is not in [0, {}]: half of a sequence can be kept, and {}", overflow.keep,
                      most, WindowText(limits));
}

absl::Status CheckBans(const GenerationRequest& request, const RequestLimits& limits) {
  const sampling::BadWords* bad_words = request.text_rules.bad_words.get();
  const std::vector<int32_t>& allowed = request.sampling.allowed_tokens;
  if (request.max_tokens == 0u || (request.sampling.logit_bias.empty() && allowed.empty() && bad_words == nullptr)) {
    return absl::OkStatus();
  }
  std::vector<bool> banned(static_cast<size_t>(limits.vocabulary_size), !allowed.empty());
  for (const int32_t token : allowed) banned[static_cast<size_t>(token)] = false;
  const auto ban = [&](int32_t token) { banned[static_cast<size_t>(token)] = true; };
  for (const auto& [token, bias] : request.sampling.logit_bias) {
    if (bias <= -100) ban(token);
  }
  const bool without_end = request.sampling.ignore_eos || request.min_tokens > 0;
  if (without_end) std::for_each(limits.end_of_generation.begin(), limits.end_of_generation.end(), ban);
  if (request.min_tokens > 0) std::for_each(request.stop_tokens.begin(), request.stop_tokens.end(), ban);
  if (bad_words != nullptr) {
    std::for_each(bad_words->always_banned().begin(), bad_words->always_banned().end(), ban);
  }
  const int64_t left = std::count(banned.begin(), banned.end(), false);
  if (left > 0) return absl::OkStatus();
  return InvalidField(bad_words != nullptr ? "bad_words"
                      : !allowed.empty()   ? "allowed_token_ids"
                                           : "logit_bias",
                      "no token is left of the vocabulary of {}{}", limits.vocabulary_size,
                      without_end ? ", ignore_eos or min_tokens keeping the end off" : "");
}

std::string WindowText(const RequestLimits& limits) {
  return limits.context_tokens <= limits.pool_tokens ? ContextText(limits) : PoolText(limits);
}

int64_t MostTokens(const GenerationRequest& request, const RequestLimits& limits) {
  if (request.overflow.slide && request.max_tokens) return *request.max_tokens;
  const int64_t room = WindowTokens(limits) - static_cast<int64_t>(request.prompt.size());
  return request.max_tokens ? std::min<int64_t>(*request.max_tokens, room) : room;
}

}  // namespace inferd::engine
