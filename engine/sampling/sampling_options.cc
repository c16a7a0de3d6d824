// One range check for each field.
#include "engine/sampling/sampling_options.h"

#include "config/base/status.h"
#include "engine/sampling/bad_words.h"
#include "engine/sampling/byte_automaton.h"

namespace inferd::sampling {
namespace {

constexpr size_t kMostBreakers = 64;

struct Range {
  const char* field;
  float value;
  float least, most;
  bool least_excluded = false;
};

absl::Status Check(const Range& range) {
  const bool low = range.least_excluded ? !(range.value > range.least) : !(range.value >= range.least);
  if (!low && range.value <= range.most) return absl::OkStatus();
  return InvalidField(range.field, "{} is not in {}{}, {}]", range.value, range.least_excluded ? '(' : '[', range.least,
                      range.most);
}

absl::Status CheckDry(const DryOptions& dry) {
  if (dry.allowed_length < 0) return InvalidField("dry_allowed_length", "{} is less than 0", dry.allowed_length);
  if (dry.penalty_last_n < -1) return InvalidField("dry_penalty_last_n", "{} is less than -1", dry.penalty_last_n);
  return CheckTexts("dry_sequence_breakers", dry.sequence_breakers, kMostBreakers);
}

}  // namespace

absl::Status Validate(const SamplingOptions& options, int32_t vocabulary_size) {
  const Range ranges[] = {
      {"temperature", options.temperature, 0, 2},
      {"top_p", options.top_p, 0, 1, true},
      {"min_p", options.min_p, 0, 1},
      {"typical_p", options.typical_p, 0, 1, true},
      {"xtc_probability", options.xtc_probability, 0, 1},
      {"xtc_threshold", options.xtc_threshold, 0, 1},
      {"mirostat_tau", options.mirostat_tau, 0, 100},
      {"mirostat_eta", options.mirostat_eta, 0, 1},
      {"dry_multiplier", options.dry.multiplier, 0, 100},
      {"dry_base", options.dry.base, 1, 100},
      {"presence_penalty", options.presence_penalty, -2, 2},
      {"frequency_penalty", options.frequency_penalty, -2, 2},
      {"repeat_penalty", options.repeat_penalty, 0, 10, true},
  };
  for (const Range& range : ranges) RETURN_IF_ERROR(Check(range));
  if (options.top_k < 0) return InvalidField("top_k", "{} is not 0 (off) or more", options.top_k);
  if (options.repeat_last_n < -1) return InvalidField("repeat_last_n", "{} is less than -1", options.repeat_last_n);
  if (options.count_last_n < -1) return InvalidField("repeat_last_n", "{} is less than -1", options.count_last_n);
  RETURN_IF_ERROR(CheckDry(options.dry));
  RETURN_IF_ERROR(BadWords::Check(options.bad_words));
  for (const int32_t token : options.allowed_tokens) {
    if (token >= 0 && token < vocabulary_size) continue;
    return InvalidField("allowed_token_ids", "token {} is not in the vocabulary of {}", token, vocabulary_size);
  }
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || token >= vocabulary_size) {
      return InvalidField("logit_bias", "token {} is not in the vocabulary of {}", token, vocabulary_size);
    }
    if (!(bias >= -100 && bias <= 100)) {
      return InvalidField("logit_bias", "{} of token {} is not in [-100, 100]", bias, token);
    }
  }
  return absl::OkStatus();
}

}  // namespace inferd::sampling
