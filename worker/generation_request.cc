// One function a message of the wire.
#include "worker/generation_request.h"

#include <algorithm>
#include <random>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"
#include "worker/call_deadline.h"
#include "worker/priority.h"

namespace inferd::worker {
namespace {

constexpr size_t kMostSaltBytes = 256, kMostUserBytes = 256, kMostRequestIdBytes = 128;

sampling::DryOptions ReadDry(const v1::Sampling& wire) {
  sampling::DryOptions dry;
  if (wire.has_dry_multiplier()) dry.multiplier = wire.dry_multiplier();
  if (wire.has_dry_base()) dry.base = wire.dry_base();
  if (wire.has_dry_allowed_length()) dry.allowed_length = wire.dry_allowed_length();
  if (wire.has_dry_penalty_last_n()) dry.penalty_last_n = wire.dry_penalty_last_n();
  if (wire.dry_sequence_breakers_size() > 0) {
    dry.sequence_breakers.assign(wire.dry_sequence_breakers().begin(), wire.dry_sequence_breakers().end());
  }
  return dry;
}

std::vector<int32_t> Ascending(const google::protobuf::RepeatedField<int32_t>& tokens) {
  std::vector<int32_t> sorted(tokens.begin(), tokens.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

absl::StatusOr<sampling::SamplingOptions> ReadSampling(const v1::Sampling& wire) {
  sampling::SamplingOptions options;
  if (wire.has_temperature()) options.temperature = wire.temperature();
  if (wire.has_top_k()) options.top_k = wire.top_k();
  if (wire.has_top_p()) options.top_p = wire.top_p();
  if (wire.has_min_p()) options.min_p = wire.min_p();
  if (wire.has_typical_p()) options.typical_p = wire.typical_p();
  if (wire.has_presence_penalty()) options.presence_penalty = wire.presence_penalty();
  if (wire.has_frequency_penalty()) options.frequency_penalty = wire.frequency_penalty();
  if (wire.has_repeat_penalty()) options.repeat_penalty = wire.repeat_penalty();
  if (wire.has_repeat_last_n()) options.repeat_last_n = options.count_last_n = wire.repeat_last_n();
  options.logit_bias.assign(wire.logit_bias().begin(), wire.logit_bias().end());
  std::sort(options.logit_bias.begin(), options.logit_bias.end());
  options.ignore_eos = wire.ignore_eos();
  options.bad_words.assign(wire.bad_words().begin(), wire.bad_words().end());
  options.allowed_tokens = Ascending(wire.allowed_token_ids());
  if (wire.has_xtc_probability()) options.xtc_probability = wire.xtc_probability();
  if (wire.has_xtc_threshold()) options.xtc_threshold = wire.xtc_threshold();
  options.dry = ReadDry(wire);
  if (wire.mirostat() != 0 && wire.mirostat() != 2) {
    return InvalidField("mirostat", "{} is not supported, expected 0 (off) or 2", wire.mirostat());
  }
  options.mirostat = wire.mirostat() == 2;
  if (wire.has_mirostat_tau()) options.mirostat_tau = wire.mirostat_tau();
  if (wire.has_mirostat_eta()) options.mirostat_eta = wire.mirostat_eta();
  return options;
}

absl::Status CheckTexts(const v1::GenerateRequest& wire) {
  const struct {
    const char* field;
    size_t size, most;
  } texts[] = {{"cache_salt", wire.cache_salt().size(), kMostSaltBytes},
               {"user", wire.user().size(), kMostUserBytes},
               {"request_id", wire.request_id().size(), kMostRequestIdBytes}};
  for (const auto& text : texts) {
    if (text.size > text.most) {
      return InvalidField(text.field, "{} bytes, expected at most {}", text.size, text.most);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckConstraint(const v1::GenerateRequest& wire) {
  if (wire.has_constraint() && wire.constraint().kind_case() == v1::Constraint::KIND_NOT_SET) {
    return InvalidField("constraint", "is empty, expected one of json_object, json_schema, regex, grammar and choice");
  }
  return absl::OkStatus();
}

std::vector<engine::ResumedChoice> ReadResumed(const v1::GenerateRequest& wire) {
  std::vector<engine::ResumedChoice> choices;
  for (const v1::ResumeState& state : wire.resume_tokens()) {
    choices.push_back({.choice = state.choice(),
                       .tokens = {state.ids().begin(), state.ids().end()},
                       .delivered_bytes = state.delivered_bytes(),
                       .finished = state.finished()});
  }
  return choices;
}

uint64_t RandomSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

absl::StatusOr<engine::GenerationRequest> ReadRequest(const v1::GenerateRequest& wire, std::vector<int32_t> prompt,
                                                      MonotonicTime now, std::optional<MonotonicTime> deadline) {
  RETURN_IF_ERROR(CheckConstraint(wire));
  RETURN_IF_ERROR(CheckTexts(wire));
  engine::GenerationRequest request{.prompt = std::move(prompt)};
  ASSIGN_OR_RETURN(request.sampling, ReadSampling(wire.sampling()));
  request.seed = wire.has_seed() ? wire.seed() : RandomSeed();
  request.choices = wire.choices() == 0 ? 1 : wire.choices();
  if (wire.limits().has_max_tokens()) request.max_tokens = wire.limits().max_tokens();
  request.min_tokens = wire.limits().min_tokens();
  request.stop.assign(wire.stop().begin(), wire.stop().end());
  request.stop_tokens = Ascending(wire.stop_token_ids());
  request.include_stop = wire.include_stop();
  if (wire.has_logprobs()) request.logprobs = static_cast<int32_t>(std::min<uint32_t>(wire.logprobs(), INT32_MAX));
  request.prompt_logprobs = wire.prompt_logprobs();
  ASSIGN_OR_RETURN(request.priority, ReadPriority(wire.priority()));
  ASSIGN_OR_RETURN(request.deadline, EarlierDeadline(wire.has_deadline_ms(), wire.deadline_ms(), deadline, now));
  if (wire.resume_tokens_size() > static_cast<int>(engine::kMostChoices)) {
    return InvalidField("resume_tokens", "{} choices, expected at most {}", wire.resume_tokens_size(),
                        engine::kMostChoices);
  }
  request.resumed = ReadResumed(wire);
  return request;
}

engine::Overflow OverflowOf(const config::ModelOptions& configured) {
  return {.slide = configured.overflow == config::Overflow::kSlide, .keep = configured.overflow_keep};
}

absl::StatusOr<engine::Overflow> ReadOverflow(const v1::GenerateRequest& wire, const config::ModelOptions& configured) {
  const v1::Limits& limits = wire.limits();
  engine::Overflow overflow = OverflowOf(configured);
  if (limits.has_overflow_keep()) overflow.keep = limits.overflow_keep();
  switch (limits.overflow()) {
    case v1::OVERFLOW_UNSPECIFIED:
      return overflow;
    case v1::OVERFLOW_STOP:
    case v1::OVERFLOW_SLIDE:
      overflow.slide = limits.overflow() == v1::OVERFLOW_SLIDE;
      return overflow;
    default:
      return InvalidField("overflow", "{} is not a value of Overflow", static_cast<int>(limits.overflow()));
  }
}

}  // namespace inferd::worker
